//! The languages: the names of their files, and their grammars.

use serde::{Deserialize, Serialize};

/// Defines the languages: for each the endings of its files' names, its grammar, and the queries
/// that find definitions, first those that come with the grammars.
macro_rules! languages {
    ($($(#[$doc:meta])* $name:ident: [$($end:literal),*], $grammar:expr, [$($query:expr),*];)*) => {
        /// A language that files are written in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Language {
            $($(#[$doc])* $name,)*
        }

        impl Language {
            /// Every language.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            fn name_ends(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &[$($end),*],)*
                }
            }

            #[cfg(feature = "grammars")]
            pub(crate) fn grammar(self) -> tree_sitter::Language {
                match self {
                    $(Self::$name => $grammar.into(),)*
                }
            }

            #[cfg(feature = "grammars")]
            pub(crate) fn queries(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &[$($query),*],)*
                }
            }
        }
    };
}

languages! {
    /// Rust.
    Rust: ["rs"], tree_sitter_rust::LANGUAGE, [
        tree_sitter_rust::TAGS_QUERY,
        "(mod_item (declaration_list (function_item name: (_) @name) @definition.function))
         (impl_item !trait type: (_) @name) @definition.impl
         (impl_item trait: (_) @name type: (_) @name) @definition.impl
         (const_item name: (_) @name) @definition.const
         (static_item name: (_) @name) @definition.static
         (function_signature_item name: (_) @name) @definition.function"
    ];
    /// Python.
    Python: ["py", "pyi"], tree_sitter_python::LANGUAGE, [tree_sitter_python::TAGS_QUERY];
    /// JavaScript, also with JSX.
    JavaScript: ["js", "cjs", "mjs", "jsx"], tree_sitter_javascript::LANGUAGE, [
        tree_sitter_javascript::TAGS_QUERY,
        CONSTRUCTOR
    ];
    /// TypeScript.
    TypeScript: ["ts", "cts", "mts"], tree_sitter_typescript::LANGUAGE_TYPESCRIPT, [
        tree_sitter_javascript::TAGS_QUERY,
        tree_sitter_typescript::TAGS_QUERY,
        CONSTRUCTOR,
        TYPESCRIPT
    ];
    /// TypeScript with JSX.
    Tsx: ["tsx"], tree_sitter_typescript::LANGUAGE_TSX, [
        tree_sitter_javascript::TAGS_QUERY,
        tree_sitter_typescript::TAGS_QUERY,
        CONSTRUCTOR,
        TYPESCRIPT
    ];
    /// Go.
    Go: ["go"], tree_sitter_go::LANGUAGE, [
        tree_sitter_go::TAGS_QUERY,
        "(source_file (const_declaration (const_spec (identifier) @name) @definition.const))
         (source_file (var_declaration (var_spec name: (_) @name) @definition.var))
         (source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @definition.var)))"
    ];
    /// C.
    C: ["c"], tree_sitter_c::LANGUAGE, [tree_sitter_c::TAGS_QUERY, C];
    /// C++, and headers of C.
    Cpp: ["cc", "cpp", "cxx", "h", "hh", "hpp", "hxx"], tree_sitter_cpp::LANGUAGE, [
        tree_sitter_cpp::TAGS_QUERY,
        C,
        "(struct_specifier name: (template_type) @name body: (_)) @definition.class
         (class_specifier name: (template_type) @name body: (_)) @definition.class
         (alias_declaration name: (_) @name) @definition.type
         (namespace_definition name: (_) @name) @definition.namespace"
    ];
    /// Java.
    Java: ["java"], tree_sitter_java::LANGUAGE, [
        tree_sitter_java::TAGS_QUERY,
        "(enum_declaration name: (_) @name) @definition.enum
         (record_declaration name: (_) @name) @definition.record
         (annotation_type_declaration name: (_) @name) @definition.annotation
         (constructor_declaration name: (_) @name) @definition.constructor"
    ];
    /// C#.
    CSharp: ["cs"], tree_sitter_c_sharp::LANGUAGE, [
        tree_sitter_c_sharp::TAGS_QUERY,
        "(namespace_declaration name: (qualified_name) @name) @definition.module
         (delegate_declaration name: (_) @name) @definition.delegate
         (struct_declaration name: (_) @name) @definition.struct
         (enum_declaration name: (_) @name) @definition.enum
         (record_declaration name: (_) @name) @definition.record
         (property_declaration name: (_) @name) @definition.property
         (constructor_declaration name: (_) @name) @definition.constructor"
    ];
    /// Ruby.
    Ruby: ["rb", "rake", "gemspec"], tree_sitter_ruby::LANGUAGE, [tree_sitter_ruby::TAGS_QUERY];
    /// PHP, including the text outside of `<?php … ?>`.
    Php: ["php"], tree_sitter_php::LANGUAGE_PHP, [
        tree_sitter_php::TAGS_QUERY,
        "(enum_declaration name: (_) @name) @definition.enum"
    ];
    /// Shell, as bash reads it.
    Bash: ["sh", "bash"], tree_sitter_bash::LANGUAGE, [
        "(function_definition name: (_) @name) @definition.function"
    ];
    /// JSON, also with comments.
    Json: ["json", "jsonc"], tree_sitter_json::LANGUAGE, [
        "(document (object (pair key: (string (string_content) @name)) @definition.key))"
    ];
    /// YAML.
    Yaml: ["yaml", "yml"], tree_sitter_yaml::LANGUAGE, [
        "(document (block_node (block_mapping (block_mapping_pair key: (_) @name) @definition.key)))"
    ];
    /// TOML.
    Toml: ["toml"], tree_sitter_toml_ng::LANGUAGE, [
        "(table . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.table
         (table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.table"
    ];
    /// HTML.
    Html: ["html", "htm"], tree_sitter_html::LANGUAGE, [
        "(element (start_tag (attribute (attribute_name) @key
            (quoted_attribute_value (attribute_value) @name)))
            (#eq? @key \"id\")) @definition.id"
    ];
    /// CSS.
    Css: ["css"], tree_sitter_css::LANGUAGE, ["(rule_set (selectors) @name) @definition.rule"];
}

/// The query that comes with the grammar leaves constructors out.
#[cfg(feature = "grammars")]
const CONSTRUCTOR: &str =
    "((method_definition name: (_) @name) @definition.method (#eq? @name \"constructor\"))";

#[cfg(feature = "grammars")]
const C: &str = "(union_specifier name: (_) @name body: (_)) @definition.class
    (preproc_function_def name: (_) @name) @definition.macro
    (type_definition declarator: (function_declarator declarator: (parenthesized_declarator
        (pointer_declarator declarator: (_) @name)))) @definition.type";

#[cfg(feature = "grammars")]
const TYPESCRIPT: &str = "(type_alias_declaration name: (_) @name) @definition.type
    (enum_declaration name: (_) @name) @definition.enum
    (internal_module name: (_) @name) @definition.namespace";

impl Language {
    /// Returns the language of a file by the ending of its name or path, or `None` if unknown.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, end) = name.rsplit_once('.')?;
        let end = end.to_ascii_lowercase();
        let mut all = Self::ALL.iter().copied();
        all.find(|language| language.name_ends().contains(&end.as_str()))
    }
}
