//! Money: exact inside, rounded to the cent only where printed.

use rust_decimal::Decimal;

use crate::quantity::Quantity;

/// A decimal amount, exact.
pub(crate) fn exact(amount: Decimal) -> Quantity {
    Quantity::ratio(amount.mantissa(), 10i128.pow(amount.scale())).unwrap_or_default()
}

/// `28600.00`: US dollars and cents, half a cent up.
pub(crate) fn usd(amount: &Quantity) -> String {
    let half = Quantity::ratio(1, 2).unwrap_or_default();
    let cents = (&(amount * &100.into()) + &half).floor();
    format!("{}.{:02}", cents / 100, cents % 100)
}
