//! Whether the parser has taken a script apart as bash does.
//!
//! The parser reads a few characters otherwise. A script of which the two readings differ counts
//! as not understood.

use super::reading::Reading;
use std::ops::Range;
use tree_sitter::{Node, Tree};

impl Reading {
    /// Whether the parser has taken the text apart in the same way.
    pub(super) fn agrees_with(&self, tree: &Tree) -> bool {
        let root = tree.root_node();
        let at = |range: &Range<usize>| root.descendant_for_byte_range(range.start, range.end);
        self.ends.iter().all(|end| self.is_end(*end, root))
            && self.quotes.iter().all(|quote| {
                at(quote).is_some_and(|node| is_opaque(node) || node.byte_range() == *quote)
            })
            && self.substitutions.iter().all(|inner| {
                at(inner).is_some_and(|node| is_opaque(node) || self.is_substitution(node, inner))
            })
            && self.covers(root)
    }

    /// Whether a node is what bash substitutes. The parser takes blanks in a string before
    /// backticks for a part of them.
    fn is_substitution(&self, node: Node<'_>, inner: &Range<usize>) -> bool {
        let blanks = self.text.as_bytes().get(node.start_byte()..inner.start);
        let is_near = node.kind() == "command_substitution"
            && blanks.is_some_and(|blanks| blanks.iter().all(|b| is_blank(*b)));
        node.end_byte() == inner.end && (is_near || node.start_byte() == inner.start)
    }

    /// Whether the parser ends something, too, where bash ends a word or a command.
    fn is_end(&self, at: usize, root: Node<'_>) -> bool {
        let Some(node) = root.descendant_for_byte_range(at, at + 1) else {
            return false;
        };
        let byte = self.text.as_bytes()[at];
        // In `[[ … =~ … ]]`, and in the patterns of `case`.
        if matches!(node.kind(), "regex" | "extglob_pattern") {
            return matches!(byte, b' ' | b'\t' | b'(' | b')' | b'|' | b'<' | b'>');
        }
        if !node.is_named() {
            return node.kind().as_bytes().contains(&byte) || byte == b'\n';
        }
        match byte {
            b' ' | b'\t' => !is_within_word(node),
            b'\n' => !is_within_word(node) && !is_within_command(node),
            _ => false,
        }
    }

    /// Whether each byte is in a node or is a blank, and comments and here-documents are where
    /// they are for bash.
    fn covers(&self, root: Node<'_>) -> bool {
        let (mut comments, mut documents) = (Vec::new(), Vec::new());
        let mut end = 0;
        let mut nodes = vec![root];
        let bytes = self.text.as_bytes();
        while let Some(node) = nodes.pop() {
            match node.kind() {
                "comment" => comments.push(node.byte_range()),
                "heredoc_end" => documents.push(node.start_byte()),
                "command_substitution" if joins_backticks(&bytes[node.byte_range()]) => {
                    return false;
                }
                _ => {}
            }
            let is_text = node.kind() == "heredoc_body" || node.kind() == "string";
            if node.child_count() == 0 || is_text {
                let gap = bytes.get(end..node.start_byte()).unwrap_or_default();
                // The parser loses a dash before a here-document.
                let is_dash = node.kind().starts_with("<<") && gap.trim_ascii() == b"-";
                if !is_dash && !gap.iter().all(|b| is_blank(*b)) {
                    return false;
                }
                // Bash takes digits before `<` and `>` for a descriptor.
                let is_descriptor = matches!(node.kind(), "word" | "number")
                    && matches!(bytes.get(node.end_byte()), Some(b'<' | b'>'))
                    && bytes[node.byte_range()].iter().all(u8::is_ascii_digit);
                if is_descriptor {
                    return false;
                }
                end = end.max(node.end_byte());
            }
            let mut cursor = node.walk();
            let from = nodes.len();
            nodes.extend(node.children(&mut cursor));
            if nodes[from..].windows(2).any(is_cut) {
                return false;
            }
            nodes[from..].reverse();
        }
        comments.sort_by_key(|range| range.start);
        documents.sort_unstable();
        let mut expected = self.documents.clone();
        expected.sort_unstable();
        let rest = bytes.get(end..).unwrap_or_default();
        comments == self.comments && documents == expected && rest.iter().all(|b| is_blank(*b))
    }
}

/// Whether the parser ends an assignment or a command's name within a word.
fn is_cut(pair: &[Node<'_>]) -> bool {
    let is_start = matches!(pair[0].kind(), "variable_assignment" | "command_name");
    let is_word = pair[1].is_named() && !pair[1].kind().ends_with("_redirect");
    is_start && is_word && pair[0].end_byte() == pair[1].start_byte()
}

/// Whether a substitution in backticks goes on behind the backtick that ends it for bash: the
/// parser takes several of them for one.
fn joins_backticks(text: &[u8]) -> bool {
    let mut bytes = text.trim_ascii_start().iter();
    if bytes.next() != Some(&b'`') {
        return false;
    }
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'`' => return bytes.len() > 0,
            _ => {}
        }
    }
    false
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// What is looked through as text.
fn is_opaque(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "regex" | "extglob_pattern" | "heredoc_body" | "heredoc_content"
    )
}

fn is_within_word(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "word"
            | "concatenation"
            | "command_name"
            | "simple_expansion"
            | "expansion"
            | "variable_name"
            | "special_variable_name"
            | "number"
            | "string"
            | "string_content"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "variable_assignment"
            | "file_descriptor"
            | "heredoc_start"
            | "heredoc_body"
            | "heredoc_content"
            | "heredoc_end"
            | "comment"
    )
}

fn is_within_command(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "command"
            | "declaration_command"
            | "unset_command"
            | "redirected_statement"
            | "file_redirect"
            | "herestring_redirect"
            | "negated_command"
            | "variable_assignments"
    )
}
