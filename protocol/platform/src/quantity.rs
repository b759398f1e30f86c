//! Times and rates with their units (spec/platform.md, section 2): decimal text to integers,
//! exactly.

use farcall_base::nearest;

use crate::mistakes::{Wrong, shown};

/// Digits of a number at most: with any unit it stays far within 128 bits.
const DIGITS_MAX: usize = 18;
/// The longest time: an hour. What is longer is a mistake in the unit.
const TIME_PS_MAX: u128 = 3_600 * PS_PER_S;
const PS_PER_S: u128 = 1_000_000_000_000;
const PS_PER_NS: u128 = 1_000;
const NS_PER_S: u128 = 1_000_000_000;
/// The highest rate: 1 TB/s.
const RATE_BITS_MAX: u128 = 8_000_000_000_000;
const BITS_PER_BYTE: u128 = 8;

/// Bytes a second, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// One byte a second.
    pub const LEAST: Rate = Rate(1);

    /// A rate; none of 0, by which nothing would ever arrive.
    pub fn new(bytes_per_second: u64) -> Option<Rate> {
        (bytes_per_second > 0).then_some(Rate(bytes_per_second))
    }

    /// Bytes a second.
    pub fn bytes_per_second(self) -> u64 {
        self.0
    }

    /// How long so many bytes take, in nanoseconds, rounded up.
    pub fn time_ns(self, bytes: u64) -> u64 {
        saturated((u128::from(bytes) * NS_PER_S).div_ceil(u128::from(self.0)))
    }
}

/// What one operation of a kernel costs, in picoseconds: today's processors need less than a
/// nanosecond for some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationCost(u64);

impl OperationCost {
    /// One picosecond.
    pub const LEAST: OperationCost = OperationCost(1);

    /// A cost; none of 0, by which virtual time would stand still.
    pub fn new(picoseconds: u64) -> Option<OperationCost> {
        (picoseconds > 0).then_some(OperationCost(picoseconds))
    }

    /// Picoseconds of one operation.
    pub fn picoseconds(self) -> u64 {
        self.0
    }

    /// How long so many operations take, in nanoseconds, rounded up.
    pub fn time_ns(self, operations: u64) -> u64 {
        saturated((u128::from(operations) * u128::from(self.0)).div_ceil(PS_PER_NS))
    }
}

fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// A kind of quantity: its units, each in the smallest part that is counted.
struct Kind {
    what: &'static str,
    example: &'static str,
    units: &'static [(&'static str, u128)],
    listed: &'static str,
}

/// In picoseconds. Both signs that stand for micro are letters of Unicode.
const TIME: Kind = Kind {
    what: "time",
    example: "20 us",
    units: &[
        ("s", PS_PER_S),
        ("ms", 1_000_000_000),
        ("us", 1_000_000),
        ("\u{b5}s", 1_000_000),
        ("\u{3bc}s", 1_000_000),
        ("ns", PS_PER_NS),
    ],
    listed: "s, ms, us, ns",
};

/// In bits a second.
const RATE: Kind = Kind {
    what: "rate",
    example: "26 MB/s",
    units: &[
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
    ],
    listed: "B/s, kB/s, MB/s, GB/s, bit/s, kbit/s, Mbit/s, Gbit/s",
};

/// A time in nanoseconds; 0 is one.
pub(crate) fn time_ns(text: &str) -> Result<u64, Wrong> {
    let time = Quantity::read(&TIME, text)?;
    time.check_most(TIME_PS_MAX, "an hour")?;
    time.whole(PS_PER_NS, "nanoseconds")
}

/// The cost of one operation.
pub(crate) fn operation_cost(text: &str) -> Result<OperationCost, Wrong> {
    let time = Quantity::read(&TIME, text)?;
    time.check_most(TIME_PS_MAX, "an hour")?;
    OperationCost::new(time.whole(1, "picoseconds")?).ok_or_else(|| {
        Wrong::new(
            format!("an operation that costs \"{}\" takes no time", shown(text)),
            "write a time above 0; operations that cost nothing need no `work`",
        )
    })
}

/// A rate.
pub(crate) fn rate(text: &str) -> Result<Rate, Wrong> {
    let rate = Quantity::read(&RATE, text)?;
    rate.check_most(RATE_BITS_MAX, "1000 GB/s")?;
    Rate::new(rate.whole(BITS_PER_BYTE, "bytes per second")?).ok_or_else(|| {
        Wrong::new(
            format!("at a rate of \"{}\" nothing ever arrives", shown(text)),
            "write a rate above 0",
        )
    })
}

/// What a number without a unit is told.
pub(crate) fn bare_time() -> Wrong {
    bare(&TIME)
}

/// What a number without a unit is told.
pub(crate) fn bare_rate() -> Wrong {
    bare(&RATE)
}

fn bare(kind: &Kind) -> Wrong {
    Wrong::new(
        format!("expected a {} with its unit, in quotes", kind.what),
        format!("write it as in \"{}\" (units: {})", kind.example, kind.listed),
    )
}

/// `numerator / 10^decimals` of the smallest part.
struct Quantity<'t> {
    text: &'t str,
    numerator: u128,
    decimals: u32,
}

impl<'t> Quantity<'t> {
    fn read(kind: &Kind, text: &'t str) -> Result<Quantity<'t>, Wrong> {
        let trimmed = text.trim();
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let split = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
        let number = &trimmed[..split];
        let unit = trimmed[split..].trim_start();
        let (digits, decimals) = decimal(number).ok_or_else(|| no_number(kind, text))?;
        if unit.is_empty() {
            let message = format!("the {} \"{}\" has no unit", kind.what, shown(text));
            return Err(Wrong::new(message, format!("add one of {}", kind.listed)));
        }
        if !unit.chars().all(|c| c.is_alphabetic() || c == '/') {
            return Err(no_number(kind, text));
        }
        let factor = kind.units.iter().find(|(name, _)| *name == unit);
        let (_, factor) = factor.ok_or_else(|| unknown_unit(kind, unit))?;
        Ok(Quantity { text, numerator: digits * factor, decimals })
    }

    /// Refuses what is more than so many of the smallest part.
    fn check_most(&self, most: u128, in_words: &str) -> Result<(), Wrong> {
        if self.numerator <= most * 10_u128.pow(self.decimals) {
            return Ok(());
        }
        let message =
            format!("\"{}\" is more than {in_words}, the most there is", shown(self.text));
        Err(Wrong::new(message, "check its unit"))
    }

    /// How often `step` is in it; what is no whole number is refused, so that nothing is rounded
    /// that a person wrote.
    fn whole(&self, step: u128, in_words: &str) -> Result<u64, Wrong> {
        let step = step * 10_u128.pow(self.decimals);
        if !self.numerator.is_multiple_of(step) {
            let message = format!("\"{}\" is not a whole number of {in_words}", shown(self.text));
            return Err(Wrong::new(message, "round it"));
        }
        Ok(saturated(self.numerator / step))
    }
}

/// `12`, `0.35`: all digits as one number, and how many of them stand behind the point.
fn decimal(number: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let fits = whole.len() + fraction.len() <= DIGITS_MAX;
    if !fits || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, u32::try_from(fraction.len()).ok()?))
}

fn no_number(kind: &Kind, text: &str) -> Wrong {
    Wrong::new(
        format!("\"{}\" is not a {}", shown(text), kind.what),
        format!("write a number and a unit, as in \"{}\" (units: {})", kind.example, kind.listed),
    )
}

fn unknown_unit(kind: &Kind, unit: &str) -> Wrong {
    let name = shown(unit);
    let other = if kind.what == TIME.what { &RATE } else { &TIME };
    if other.units.iter().any(|(name, _)| *name == unit) {
        let message = format!("\"{name}\" is a unit of a {}, expected a {}", other.what, kind.what);
        return Wrong::new(message, format!("use one of {}", kind.listed));
    }
    let message = format!("unknown unit \"{name}\"");
    if kind.what == RATE.what
        && let Some(fix) = bits_or_bytes(unit)
    {
        return Wrong::new(message, fix);
    }
    let names = kind.units.iter().map(|(name, _)| *name);
    let fix = match nearest(unit, names, 1).first() {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("use one of {}", kind.listed),
    };
    Wrong::new(message, fix)
}

/// Other ways to write rates. Where a small `b` could be either, both are told: they differ by 8.
fn bits_or_bytes(unit: &str) -> Option<String> {
    let (prefix, rest) = match unit.chars().next()? {
        'k' | 'K' => ("k", &unit[1..]),
        'm' | 'M' => ("M", &unit[1..]),
        'g' | 'G' => ("G", &unit[1..]),
        _ => ("", unit),
    };
    match rest {
        "B" | "Bps" | "B/s" => Some(format!("did you mean \"{prefix}B/s\"?")),
        "bit" | "bits" | "bits/s" | "bit/s" => Some(format!("did you mean \"{prefix}bit/s\"?")),
        "iB/s" | "iB" => Some(format!("units are decimal: use \"{prefix}B/s\"")),
        "b/s" | "bps" | "b" => Some(format!(
            "write \"{prefix}bit/s\" for bits or \"{prefix}B/s\" for bytes: they differ by 8"
        )),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_and_exact() {
        let times = [
            ("20 us", 20_000),
            ("0.35 ms", 350_000),
            ("1 s", 1_000_000_000),
            (" 7ns ", 7),
            ("0 s", 0),
        ];
        for (text, ns) in times {
            assert_eq!(time_ns(text).unwrap(), ns, "{text}");
        }
        assert_eq!(time_ns("20 \u{b5}s").unwrap(), time_ns("20 \u{3bc}s").unwrap());
        for (text, bytes) in
            [("26 MB/s", 26_000_000), ("6 Mbit/s", 750_000), ("25 Gbit/s", 3_125_000_000)]
        {
            assert_eq!(rate(text).unwrap().bytes_per_second(), bytes, "{text}");
        }
        assert_eq!(rate("4.53 Mbit/s").unwrap(), rate("566250 B/s").unwrap());
        assert_eq!(operation_cost("0.46 ns").unwrap().picoseconds(), 460);
    }

    #[test]
    fn times_of_bytes_and_operations_are_rounded_up_and_never_overflow() {
        let third = Rate::new(3).unwrap();
        assert_eq!([0, 1, 3].map(|bytes| third.time_ns(bytes)), [0, 333_333_334, 1_000_000_000]);
        assert_eq!(Rate::new(1).unwrap().time_ns(u64::MAX), u64::MAX);
        let cost = OperationCost::new(1_250).unwrap();
        assert_eq!([0, 1, 2, 4].map(|operations| cost.time_ns(operations)), [0, 2, 3, 5]);
        assert_eq!(OperationCost::new(u64::MAX).unwrap().time_ns(u64::MAX), u64::MAX);
        assert_eq!((Rate::new(0), OperationCost::new(0)), (None, None));
    }

    #[test]
    fn the_longest_numbers_are_read() {
        assert!(time_ns("0.00000000000000001 s").unwrap_err().message.contains("whole"));
        assert!(time_ns("99999999999999999 s").unwrap_err().message.contains("an hour"));
        assert!(time_ns("1.000000000000000000 s").unwrap_err().message.contains("is not a time"));
    }
}
