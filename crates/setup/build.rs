//! Generates the list of the files `src/hosts/NAME.toml` for `src/hosts.rs`, so that every file
//! there is compiled in.

use std::error::Error;
use std::path::Path;
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/hosts");
    let files: io::Result<Vec<_>> = fs::read_dir("src/hosts")?.collect();
    let mut names: Vec<_> = files?.iter().map(fs::DirEntry::path).collect();
    names.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    names.sort();
    let rows = names.iter().filter_map(|path| path.file_stem()?.to_str());
    let rows = rows.map(|name| {
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/src/hosts/{name}.toml\")");
        format!("({name:?}, include_str!({path})),\n")
    });
    let list = rows.collect::<String>();
    let list = format!("static FILES: &[(&str, &str)] = &[\n{list}];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("hosts.rs"), list)?;
    Ok(())
}
