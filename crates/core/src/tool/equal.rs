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

/// Returns a text that is the same for equal values, so that many values can be compared at once.
pub(super) fn canonical(value: &Value) -> String {
    fn plain(value: &Value) -> Value {
        match value {
            Value::Number(number) => {
                let whole = whole(number).and_then(Number::from_i128);
                whole.map_or_else(|| value.clone(), Value::Number)
            }
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

/// Returns true if `number` is a multiple of `step`, or `step` is not positive. A fraction may miss
/// a multiple by a rounding error, as 0.1 + 0.2 misses 0.3.
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

/// Returns a number as an integer, also if it is a double such as `5.0`; `None` for a fraction, and
/// for a double from 1e38 on, which may be too large for an `i128`.
fn whole(number: &Number) -> Option<i128> {
    let double = || {
        number
            .as_f64()
            .filter(|d| d.fract() == 0.0 && d.abs() < 1e38)
    };
    let whole = || double().map(|double| double as i128);
    number.as_i128().or_else(whole)
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
    fn values_are_the_same_if_and_only_if_their_texts_are() {
        let mut numbers = vec![
            json!(0),
            json!(-0.0),
            json!(0.5),
            json!(1e300),
            json!(-1e300),
        ];
        for bit in [0, 1, 52, 53, 54, 62, 63, 64, 65, 126, 127] {
            let double = 2_f64.powi(bit);
            for double in [double, double - 1.0, double + 1.0, -double, 10.0 * double] {
                numbers.extend([json!(double), json!(double as i64), json!(double as u64)]);
            }
        }
        for (a, b) in numbers
            .iter()
            .flat_map(|a| numbers.iter().map(move |b| (a, b)))
        {
            assert_eq!(same(a, b), canonical(a) == canonical(b), "{a} {b}");
        }
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
