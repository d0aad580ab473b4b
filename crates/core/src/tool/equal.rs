//! When two JSON values are the same, and which of two numbers is larger.

use serde_json::{Number, Value};
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Whether two values are equal: numbers by what they are worth, so that 1 is 1.0.
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

/// A number that values have in common if they are the [`same`].
pub(super) fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(is_true) => (1_u8, is_true).hash(&mut hasher),
        // Integers as well, because 1 is 1.0; and 0 is -0.0.
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default() + 0.0;
            (2_u8, number.to_bits()).hash(&mut hasher);
        }
        Value::String(text) => (3_u8, text).hash(&mut hasher),
        Value::Array(items) => {
            (4_u8, items.len()).hash(&mut hasher);
            for item in items {
                digest(item).hash(&mut hasher);
            }
        }
        Value::Object(members) => {
            let of = |(key, value): (&String, &Value)| {
                let mut hasher = DefaultHasher::new();
                (key, digest(value)).hash(&mut hasher);
                hasher.finish()
            };
            // The order of the members does not count.
            let sum = members.iter().map(of).fold(0, u64::wrapping_add);
            (5_u8, sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// How two numbers compare; `None` where one is not a number.
pub(super) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    let (Value::Number(a), Value::Number(b)) = (a, b) else {
        return None;
    };
    // A double does not hold every large integer.
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Whether a number is a multiple of another, as the two are written.
pub(super) fn is_multiple(number: &Value, step: &Value) -> bool {
    let (Some(a), Some(b)) = (number.as_f64(), step.as_f64()) else {
        return true;
    };
    if b <= 0.0 {
        return true;
    }
    let quotient = a / b;
    // A sum such as 0.1 + 0.2 is not quite what it should be; large quotients are all whole.
    if quotient.abs() < 1e15 && (quotient - quotient.round()).abs() <= 1e-9 {
        return true;
    }
    in_same_unit(number, step).map_or(a % b == 0.0, |(a, b)| a % b == 0)
}

/// Two decimal numbers in the unit of the last digit of either; `None` where they don't fit.
fn in_same_unit(a: &Value, b: &Value) -> Option<(i128, i128)> {
    let ((a, places_a), (b, places_b)) = (digits(a)?, digits(b)?);
    let places = places_a.max(places_b);
    let scaled = |digits: i128, own: i32| {
        let more = u32::try_from(places - own).ok()?;
        digits.checked_mul(10_i128.checked_pow(more)?)
    };
    Some((scaled(a, places_a)?, scaled(b, places_b)?))
}

/// The digits of a number, and how many of them are after the point.
fn digits(number: &Value) -> Option<(i128, i32)> {
    let text = number.to_string();
    let (text, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (before, behind) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{before}{behind}").parse().ok()?;
    let places = i32::try_from(behind.len()).ok()?;
    Some((digits, places - exponent.parse::<i32>().ok()?))
}

fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::{digest, is_multiple, order, same};
    use serde_json::json;
    use std::cmp::Ordering;

    #[test]
    fn numbers_are_compared_by_what_they_are_worth() {
        assert!(same(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!same(&json!([1]), &json!([true])) && !same(&json!(""), &json!(null)));
        let (a, b) = (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992_u64),
        );
        assert_eq!(order(&a, &b), Some(Ordering::Greater));
        assert_eq!(order(&json!(-1), &json!(u64::MAX)), Some(Ordering::Less));
        assert_eq!(order(&json!("1"), &json!(1)), None);
    }

    #[test]
    fn the_same_values_have_the_same_digest() {
        for (a, b) in [
            (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1.0})),
            (json!(0), json!(-0.0)),
        ] {
            assert!(same(&a, &b) && digest(&a) == digest(&b), "{a} {b}");
        }
        for (a, b) in [
            (json!([[1], 2]), json!([[1, 2]])),
            (json!({"a": 1}), json!({"b": 1})),
            (json!("1"), json!(1)),
        ] {
            assert!(digest(&a) != digest(&b), "{a} {b}");
        }
    }

    #[test]
    fn multiples_are_told_by_the_digits() {
        for (number, step, expected) in [
            (json!(19.99), json!(0.01), true),
            (json!(1.005), json!(0.01), false),
            (json!(0.1 + 0.2), json!(0.1), true),
            (json!(12_391_239_123_u64), json!(1e-8), true),
            (json!(1e300), json!(0.5), true),
            (json!(1e308), json!(0.123_456_789), false),
            (json!(9_007_199_254_740_993_u64), json!(2), false),
            (json!(-4), json!(2), true),
        ] {
            assert_eq!(is_multiple(&number, &step), expected, "{number} {step}");
        }
    }
}
