//! Comparison of JSON values and of numbers.

use serde_json::{Number, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Returns true if two values are equal. Numbers are compared by value, so that 1 equals 1.0.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => order(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let in_b = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(in_b)
        }
        (a, b) => a == b,
    }
}

/// Returns a text that is the same for equal values, by which many values can be compared at once.
pub(super) fn canonical(value: &Value) -> String {
    fn plain(value: &Value) -> Value {
        match value {
            // Whole doubles below 2^53 are exact.
            Value::Number(number) => match number.as_f64() {
                Some(double) if double.fract() == 0.0 && double.abs() < 9e15 => {
                    Value::from(double as i64)
                }
                _ => value.clone(),
            },
            Value::Array(items) => items.iter().map(plain).collect(),
            Value::Object(members) => {
                let sorted: BTreeMap<_, _> =
                    members.iter().map(|(k, v)| (k.clone(), plain(v))).collect();
                sorted.into_iter().collect()
            }
            _ => value.clone(),
        }
    }
    plain(value).to_string()
}

pub(super) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    let (Value::Number(a), Value::Number(b)) = (a, b) else {
        return None;
    };
    // Integers are compared as such, because a double can't represent every large one.
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Returns true if a number is a multiple of another. Fractions may miss it by a rounding error,
/// such as that of 0.1 + 0.2.
pub(super) fn is_multiple(number: &Value, step: &Value) -> bool {
    if let (Some(a), Some(b)) = (number.as_i64(), step.as_i64()) {
        return b <= 0 || a % b == 0;
    }
    let (Some(a), Some(b)) = (number.as_f64(), step.as_f64()) else {
        return true;
    };
    let quotient = a / b;
    b <= 0.0 || (quotient - quotient.round()).abs() <= 1e-9
}

fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::{canonical, is_multiple, order, same};
    use serde_json::json;
    use std::cmp::Ordering;

    #[test]
    fn numbers_are_compared_by_what_they_are_worth() {
        assert!(same(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!same(&json!([1]), &json!([true])) && !same(&json!(""), &json!(null)));
        let one = canonical(&json!({"a": [1], "b": 2.5}));
        assert_eq!(one, canonical(&json!({"b": 2.5, "a": [1.0]})));
        assert_ne!(one, canonical(&json!({"b": 2.5, "a": ["1"]})));
        let (a, b) = (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992_u64),
        );
        assert_eq!(order(&a, &b), Some(Ordering::Greater));
        assert_eq!(order(&json!(-1), &json!(u64::MAX)), Some(Ordering::Less));
        assert_eq!(order(&json!("1"), &json!(1)), None);
    }

    #[test]
    fn a_multiple_may_miss_by_a_rounding_error() {
        for (number, step, expected) in [
            (json!(19.99), json!(0.01), true),
            (json!(1.005), json!(0.01), false),
            (json!(0.1 + 0.2), json!(0.1), true),
            (json!(9_007_199_254_740_993_u64), json!(2), false),
            (json!(-4), json!(2), true),
        ] {
            assert_eq!(is_multiple(&number, &step), expected, "{number} {step}");
        }
    }
}
