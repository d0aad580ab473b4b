use super::Credentials;
use std::path::Path;

fn find(vars: &[(&str, &str)], home: Option<&Path>) -> Result<Option<Credentials>, String> {
    let env = |name: &str| {
        let found = vars.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Credentials::find(&env, home).map_err(|e| e.to_string())
}

fn address(vars: &[(&str, &str)]) -> String {
    let found = find(vars, None).expect("no error").expect("a credential");
    let address = found.address("m", "generateContent");
    address.expect("an address").to_string()
}

#[test]
fn the_name_of_a_model_leads_nowhere_else() {
    let vars = [
        ("GEMINI_API_KEY", "k"),
        ("GOOGLE_GEMINI_BASE_URL", "http://g/x"),
    ];
    let found = find(&vars, None).expect("no error").expect("a credential");
    let address = |model: &str| found.address(model, "generateContent");
    for model in [
        "../../../evil",
        "..",
        ".",
        "",
        "models/",
        "models/..",
        "models/models/m",
        "a/b",
        "a\\b",
        "a\r\nb",
    ] {
        let error = address(model).expect_err("refused").to_string();
        assert!(error.contains("is not a valid name of a model"), "{error}");
    }
    for (model, sent) in [
        ("m", "m"),
        ("models/gemini-2.5-pro@001", "gemini-2.5-pro@001"),
        ("..a", "..a"),
        ("m?key=x#y", "m%3Fkey=x%23y"),
        ("%2e%2e%2fm", "%252e%252e%252fm"),
        ("m é", "m%20%C3%A9"),
    ] {
        let url = address(model).expect("an address").to_string();
        assert_eq!(
            url,
            format!("http://g/x/v1beta/models/{sent}:generateContent")
        );
    }
}

#[test]
fn each_way_has_its_address() {
    let token = [
        ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
        ("GOOGLE_CLOUD_ACCESS_TOKEN", "t"),
        ("GOOGLE_CLOUD_PROJECT", "p"),
        ("GOOGLE_CLOUD_LOCATION", "europe-west1"),
    ];
    for (vars, expected) in [
        (
            &[("GEMINI_API_KEY", "k")][..],
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
        ),
        (
            &[
                ("GEMINI_API_KEY", "k"),
                ("GOOGLE_GEMINI_BASE_URL", "http://g/x/"),
            ],
            "http://g/x/v1beta/models/m:generateContent",
        ),
        (
            &[
                ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
                ("GOOGLE_API_KEY", "k"),
                ("GEMINI_API_KEY", "no"),
            ],
            "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/m:generateContent",
        ),
        (
            &token,
            "https://europe-west1-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west1/publishers/google/models/m:generateContent",
        ),
        (
            &[
                ("GOOGLE_GENAI_USE_GCA", "true"),
                ("GOOGLE_CLOUD_ACCESS_TOKEN", "t"),
            ],
            "https://cloudcode-pa.googleapis.com/v1internal:generateContent",
        ),
    ] {
        assert_eq!(address(vars), expected);
    }
}

#[test]
fn what_is_missing_is_named() {
    for (vars, word) in [
        (
            &[("GOOGLE_GENAI_USE_GCA", "true")][..],
            "GOOGLE_CLOUD_ACCESS_TOKEN",
        ),
        (&[("GOOGLE_GENAI_USE_VERTEXAI", "1")], "GOOGLE_API_KEY"),
        (
            &[("GEMINI_API_KEY", "k"), ("GOOGLE_GEMINI_BASE_URL", "x")],
            "GOOGLE_GEMINI_BASE_URL",
        ),
        (
            &[
                ("GEMINI_API_KEY", "k"),
                ("GOOGLE_GEMINI_BASE_URL", "file:///x"),
            ],
            "GOOGLE_GEMINI_BASE_URL",
        ),
    ] {
        let error = find(vars, None).expect_err("missing");
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(find(&[("GEMINI_API_KEY", " ")], None), Ok(None));
}

#[test]
fn the_users_files_count_and_the_environment_goes_first() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path().join(".gemini");
    std::fs::create_dir(&dir).expect("made");
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("written");
    write(
        ".env",
        "# mine\nexport GEMINI_API_KEY=\"from file\" # why\n",
    );
    let key = |vars: &[(&str, &str)]| {
        let found = find(vars, Some(home.path()))
            .expect("no error")
            .expect("one");
        found.token.expose().to_owned()
    };
    assert_eq!(key(&[]), "from file");
    assert_eq!(key(&[("GEMINI_API_KEY", "k")]), "k");
    write(
        "oauth_creds.json",
        r#"{"access_token": "t", "expiry_date": 99999999999999}"#,
    );
    assert_eq!(key(&[]), "from file");
    write(
        "settings.json",
        r#"{"security": {"auth": {"selectedType": "oauth-personal"}}}"#,
    );
    assert_eq!(key(&[]), "t");
    write(
        "oauth_creds.json",
        r#"{"access_token": "t", "expiry_date": 1}"#,
    );
    assert_eq!(key(&[]), "from file", "an expired token is not used");
    std::fs::remove_file(dir.join(".env")).expect("removed");
    assert_eq!(find(&[], Some(home.path())), Ok(None));
}

#[test]
fn nothing_shows_a_secret() {
    let found = find(&[("GEMINI_API_KEY", "abcdef")], None).expect("no error");
    assert!(!format!("{found:?}").contains("abcdef"));
}
