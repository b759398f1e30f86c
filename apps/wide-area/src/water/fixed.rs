//! Forces and energies as whole numbers, whose sums do not depend on their order.

/// The forces on the nine coordinates of a molecule in [`FORCE_UNIT`]s. Add them wrapping.
pub type Forces = [i64; 9];

/// Bits of a force behind the binary point.
const FORCE_BITS: i32 = 36;
/// Bits of an energy behind the binary point.
const ENERGY_BITS: i32 = 30;
/// The unit of forces in kcal/mol/Å: about 1.5e-11.
pub const FORCE_UNIT: f64 = 1.0 / (1_u64 << FORCE_BITS) as f64;
/// The unit of energies in kcal/mol: about 9.3e-10.
pub const ENERGY_UNIT: f64 = 1.0 / (1_u64 << ENERGY_BITS) as f64;

/// The largest force on a coordinate by one pair that has a whole number.
pub(super) const FORCE_MAX: f64 = (1_u64 << (51 - FORCE_BITS)) as f64;

/// A number whose last bit is worth one unit: adding it rounds to units, and then the bits are the
/// whole number. This takes two instructions where a conversion takes six.
const fn rounding(bits: i32) -> f64 {
    1.5 * (1_u64 << (52 - bits)) as f64
}

fn whole(number: f64, rounding: f64) -> i64 {
    ((number + rounding).to_bits() as i64).wrapping_sub(rounding.to_bits() as i64)
}

/// A force below [`FORCE_MAX`] in units.
pub(super) fn force(force: f64) -> i64 {
    whole(force, const { rounding(FORCE_BITS) })
}

/// An energy below two million kcal/mol in units.
pub(super) fn whole_energy(energy: f64) -> i64 {
    whole(energy, const { rounding(ENERGY_BITS) })
}

/// Units as kcal/mol.
pub fn energy(units: i64) -> f64 {
    units as f64 * ENERGY_UNIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_the_nearest_units() {
        for value in [0.0, 1.0, -1.0, 0.1, -0.1, 1e-11, -3e-12, 12345.678, -32767.9, 32767.9] {
            let units = force(value);
            assert_eq!(units, (value / FORCE_UNIT).round_ties_even() as i64, "{value}");
            assert_eq!(force(-value), -units);
        }
        assert_eq!(whole_energy(-1.5e6), (-1.5e6 / ENERGY_UNIT) as i64);
        assert_eq!(energy(whole_energy(-10.25)), -10.25);
    }
}
