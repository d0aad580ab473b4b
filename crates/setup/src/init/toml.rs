//! Edits TOML, and keeps comments and the order of keys.

use super::set::Set;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

pub(super) fn edit(text: &str, sets: &[&Set]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|e| format!("{e}"))?;
    for set in sets {
        let (key, above) = set.at.split_last().ok_or("there is no key")?;
        let top = document.as_table_mut();
        match &set.value {
            Some(value) => put(top, above, key, value)?,
            None => take_out(top, above, key),
        }
    }
    let after = document.to_string();
    // A new table begins with a blank line, which is removed if no text is above it.
    if text.is_empty() {
        return Ok(after.trim_start().to_owned());
    }
    Ok(after)
}

fn put(top: &mut dyn TableLike, above: &[String], key: &str, value: &Value) -> Result<(), String> {
    let Some((first, rest)) = above.split_first() else {
        match top.get_mut(key) {
            // Keep the comment and spacing beside the old value.
            Some(there) if !there.is_table_like() && !value.is_object() => {
                let decor = there.as_value().map(|old| old.decor().clone());
                *there = item(value)?;
                if let (Some(decor), Some(new)) = (decor, there.as_value_mut()) {
                    *new.decor_mut() = decor;
                }
            }
            _ => drop(top.insert(key, item(value)?)),
        }
        return Ok(());
    };
    let mut made = Table::new();
    made.set_implicit(true);
    let next = top.entry(first).or_insert(Item::Table(made));
    let next = next
        .as_table_like_mut()
        .ok_or_else(|| format!("{first} must be a table"))?;
    put(next, rest, key, value)
}

fn take_out(top: &mut dyn TableLike, above: &[String], key: &str) {
    let Some((first, rest)) = above.split_first() else {
        top.remove(key);
        return;
    };
    if let Some(next) = top.get_mut(first).and_then(Item::as_table_like_mut) {
        take_out(next, rest, key);
        if next.is_empty() {
            top.remove(first);
        }
    }
}

fn item(new: &Value) -> Result<Item, String> {
    let Value::Object(map) = new else {
        return Ok(Item::Value(plain(new)?));
    };
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    for (key, one) in map {
        table.insert(key, Item::Value(plain(one)?));
    }
    Ok(Item::Table(table))
}

/// Converts a value that is written on one line. TOML writes strings, numbers and lists of these as
/// JSON does.
fn plain(new: &Value) -> Result<toml_edit::Value, String> {
    let mut value: toml_edit::Value = new.to_string().parse().map_err(|e| format!("{e}"))?;
    if let Some(list) = value.as_array_mut() {
        list.fmt();
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::super::set::{Set, set};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn a_table_goes_in_and_out_and_all_else_stays() {
        let path = Path::new("config.toml");
        let at = ["mcp_servers", "gemini-tools"];
        let entry = json!({"command": "/a/serve_tools", "env_vars": ["A", "B"]});
        for before in [
            "",
            "# mine\nmodel = \"m\" # why\n\n[projects.\"/a\"]\ntrust_level = \"trusted\"\n# end\n",
            "[mcp_servers.other]\ncommand = \"x\" # y\n",
            "[mcp_servers]\nother = { command = \"x\" }\n",
            "mcp_servers = { other = { command = \"x\" } }\n",
        ] {
            let sets = [Set::new(&at, Some(entry.clone()))];
            let after = set(path, before, &sets).expect("TOML").expect("changed");
            assert_eq!(set(path, &after, &sets), Ok(None), "twice is once: {after}");
            let sets = [Set::new(&at, None)];
            let back = set(path, &after, &sets).expect("TOML").expect("changed");
            assert_eq!(back.trim_end(), before.trim_end(), "{after}");
        }
    }

    #[test]
    fn a_changed_value_keeps_its_comment_and_what_is_no_table_is_refused() {
        let path = Path::new("config.toml");
        let sets = [Set::new(&["a", "b"], Some("new".into()))];
        let after = set(path, "[a]\nb = \"old\" # mine\n", &sets);
        assert_eq!(after, Ok(Some("[a]\nb = \"new\" # mine\n".to_owned())));
        let error = set(path, "a = 1\n", &sets).expect_err("refused");
        assert_eq!(error, "a must be a table");
        let error = set(path, "a = \n", &sets).expect_err("refused");
        assert!(error.contains("line 1"), "{error}");
    }
}
