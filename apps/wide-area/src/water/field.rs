//! The potential of SPC/Fw water within a molecule and between two, and its forces.

/// Coordinates of a molecule in Å: oxygen, then both hydrogens, x y z each.
pub type Place = [f64; 9];

/// Masses of the three atoms in atomic units.
pub(super) const MASSES: [f64; 3] = [15.9994, 1.008, 1.008];
/// Å/fs² of one kcal/mol/Å on one atomic unit of mass.
pub(super) const ACCELERATION: f64 = 4.184e-4;

/// The length of an O-H bond at rest, in Å.
pub(super) const BOND: f64 = 1.012;
/// Cosine and sine of half the angle at rest, 113.24 degrees.
pub(super) const HALF_ANGLE: [f64; 2] = [0.550_189_289_674_365_8, 0.835_039_966_425_330_3];

/// kcal/mol/Å², and kcal/mol for the angle's cosine: 75.90 per radian squared at rest.
const BOND_STIFFNESS: f64 = 1059.162;
const ANGLE_STIFFNESS: f64 = 75.90 / (0.918_860_091_954_517_5 * 0.918_860_091_954_517_5);
/// The cosine of the angle at rest.
const ANGLE_COSINE: f64 = -0.394_583_491_055_233_66;
/// Coulomb's constant in kcal Å/mol of two unit charges.
const COULOMB: f64 = 332.063_71;
/// Charges of the three atoms.
const CHARGES: [f64; 3] = [-0.82, 0.41, 0.41];
/// Coulomb's constant times the charges of each pair of atoms of two molecules.
const PRODUCTS: [f64; 9] = {
    let mut products = [0.0; 9];
    let mut pair = 0;
    while pair < 9 {
        products[pair] = COULOMB * CHARGES[pair / 3] * CHARGES[pair % 3];
        pair += 1;
    }
    products
};
/// Lennard-Jones between oxygens: kcal/mol and Å.
const DEPTH: f64 = 0.155_425_3;
const WIDTH: f64 = 3.165_492;

/// Nearest distances squared, of oxygens and of other atoms: forces above are no water.
const OXYGENS_MIN: f64 = 1.6 * 1.6;
const ATOMS_MIN: f64 = 0.1 * 0.1;

/// What atoms of two molecules do to each other.
pub(super) struct Force {
    pub(super) potential: f64,
    pub(super) on_first: Place,
    pub(super) on_second: Place,
    /// Whether atoms are so close that forces are beyond what has a whole number.
    pub(super) is_close: bool,
}

impl Force {
    /// Pushes the oxygens apart by `factor` times the vector between them.
    fn push(&mut self, oxygens: &[f64; 3], factor: f64) {
        for (axis, apart) in oxygens.iter().enumerate() {
            self.on_first[axis] += factor * apart;
            self.on_second[axis] -= factor * apart;
        }
    }
}

/// How two molecules lie to each other.
pub(super) struct Lie {
    /// From the second oxygen's nearest image to the first.
    oxygens: [f64; 3],
    /// From the second molecule to that image of it.
    image: [f64; 3],
    /// The oxygens' distance squared.
    square: f64,
}

/// The box and the distances squared at which interaction begins to fade, and ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Field {
    side: f64,
    inverse: f64,
    /// Distances squared.
    fades: f64,
    ends: f64,
}

impl Field {
    /// A cube of `side` Å: interaction ends at half of it, and fades over the last tenth.
    pub(super) fn new(side: f64) -> Field {
        let ends = 0.25 * side * side;
        Field { side, inverse: 1.0 / side, fades: 0.81 * ends, ends }
    }

    /// How two molecules lie; `None` beyond half of the box. Apart from [`Field::force`], because
    /// half of all pairs end here.
    #[inline]
    pub(super) fn lie(&self, first: &Place, second: &Place) -> Option<Lie> {
        let mut lie = Lie { oxygens: [0.0; 3], image: [0.0; 3], square: 0.0 };
        for axis in 0..3 {
            let apart = first[axis] - second[axis];
            lie.image[axis] = self.side * nearest(apart * self.inverse);
            lie.oxygens[axis] = apart - lie.image[axis];
        }
        lie.square = dot(&lie.oxygens, &lie.oxygens);
        (lie.square < self.ends).then_some(lie)
    }

    /// The forces between two molecules that lie so.
    #[inline]
    pub(super) fn force(&self, first: &Place, second: &Place, lie: &Lie) -> Force {
        let mut force = charges(first, second, &lie.image);
        force.is_close |= lie.square < OXYGENS_MIN;
        repel(&mut force, &lie.oxygens, lie.square);
        if lie.square > self.fades {
            self.fade(&mut force, &lie.oxygens, lie.square);
        }
        force
    }

    /// Multiplies the interaction by a polynomial of the squared distance that goes from 1 to 0,
    /// with two derivatives that are 0 at both ends.
    fn fade(&self, force: &mut Force, oxygens: &[f64; 3], square: f64) {
        let width = self.ends - self.fades;
        let x = (square - self.fades) / width;
        let rest = 1.0 - x;
        let factor = rest * rest * rest * (1.0 + 3.0 * x + 6.0 * x * x);
        let slope = -30.0 * x * x * rest * rest / width;
        for value in force.on_first.iter_mut().chain(&mut force.on_second) {
            *value *= factor;
        }
        force.push(oxygens, -force.potential * slope * 2.0);
        force.potential *= factor;
    }
}

/// The nearest whole number, for numbers below 2^51.
fn nearest(number: f64) -> f64 {
    const ROUNDING: f64 = 1.5 * (1_u64 << 52) as f64;
    (number + ROUNDING) - ROUNDING
}

fn dot(one: &[f64; 3], other: &[f64; 3]) -> f64 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

/// Coulomb's forces of the nine pairs of atoms: loops over all nine become instructions for two.
#[inline]
fn charges(first: &Place, second: &Place, image: &[f64; 3]) -> Force {
    let mut apart = [[0.0; 9]; 3];
    for (axis, apart) in apart.iter_mut().enumerate() {
        for pair in 0..9 {
            apart[pair] =
                first[3 * (pair / 3) + axis] - second[3 * (pair % 3) + axis] - image[axis];
        }
    }
    let mut force =
        Force { potential: 0.0, on_first: [0.0; 9], on_second: [0.0; 9], is_close: false };
    let mut factors = [0.0; 9];
    let mut nearest = f64::INFINITY;
    for pair in 0..9 {
        let square = apart[0][pair] * apart[0][pair]
            + apart[1][pair] * apart[1][pair]
            + apart[2][pair] * apart[2][pair];
        let inverse = 1.0 / square;
        let potential = PRODUCTS[pair] * inverse.sqrt();
        factors[pair] = potential * inverse;
        force.potential += potential;
        nearest = if square < nearest { square } else { nearest };
    }
    force.is_close = nearest < ATOMS_MIN;
    for (axis, apart) in apart.iter().enumerate() {
        for pair in 0..9 {
            let push = factors[pair] * apart[pair];
            force.on_first[3 * (pair / 3) + axis] += push;
            force.on_second[3 * (pair % 3) + axis] -= push;
        }
    }
    force
}

/// Adds Lennard-Jones between the oxygens.
fn repel(force: &mut Force, oxygens: &[f64; 3], square: f64) {
    let ratio = WIDTH * WIDTH / square;
    let sixth = ratio * ratio * ratio;
    force.potential += 4.0 * DEPTH * sixth * (sixth - 1.0);
    let factor = 24.0 * DEPTH * sixth * (2.0 * sixth - 1.0) / square;
    force.push(oxygens, factor);
}

/// The potential of bonds and angle of a molecule, and the forces on its atoms.
pub(super) fn within(place: &Place) -> (f64, Place) {
    let mut arms = [[0.0; 3]; 2];
    for axis in 0..3 {
        arms[0][axis] = place[3 + axis] - place[axis];
        arms[1][axis] = place[6 + axis] - place[axis];
    }
    let lengths = arms.map(|arm| dot(&arm, &arm).sqrt());
    let cosine = dot(&arms[0], &arms[1]) / (lengths[0] * lengths[1]);
    let bent = cosine - ANGLE_COSINE;
    let mut potential = 0.5 * ANGLE_STIFFNESS * bent * bent;
    let mut forces = [0.0; 9];
    for arm in 0..2 {
        let length = lengths[arm];
        let stretched = length - BOND;
        potential += 0.5 * BOND_STIFFNESS * stretched * stretched;
        let along = -BOND_STIFFNESS * stretched / length;
        let across = -ANGLE_STIFFNESS * bent / length;
        for axis in 0..3 {
            let own = arms[arm][axis];
            let turn = arms[1 - arm][axis] / lengths[1 - arm] - cosine * own / length;
            let force = along * own + across * turn;
            forces[3 + 3 * arm + axis] = force;
            forces[axis] -= force;
        }
    }
    (potential, forces)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A molecule at rest whose oxygen is at `x` on the first axis, turned by `turn` radians about
    /// the third one, and a bit bent so that nothing is 0.
    fn molecule(x: f64, turn: f64) -> Place {
        let [cosine, sine] = HALF_ANGLE;
        let arm = |side: f64| {
            let [along, across] = [BOND * cosine, side * BOND * sine];
            [
                x + along * turn.cos() - across * turn.sin(),
                along * turn.sin() + across * turn.cos(),
                0.05 * side,
            ]
        };
        let mut place = [0.0; 9];
        place[0] = x;
        place[3..6].copy_from_slice(&arm(1.0));
        place[6..].copy_from_slice(&arm(-1.03));
        place
    }

    /// Minus the gradient of a potential by differences.
    fn differences(place: &Place, potential: impl Fn(&Place) -> f64) -> Place {
        let step = 1e-5;
        let mut forces = [0.0; 9];
        for axis in 0..9 {
            let mut moved = *place;
            moved[axis] += step;
            let above = potential(&moved);
            moved[axis] -= 2.0 * step;
            forces[axis] = (potential(&moved) - above) / (2.0 * step);
        }
        forces
    }

    fn assert_near(one: &Place, other: &Place) {
        for axis in 0..9 {
            let apart = (one[axis] - other[axis]).abs();
            assert!(apart < 1e-6 * (1.0 + other[axis].abs()), "{axis}: {one:?} and {other:?}");
        }
    }

    #[test]
    fn forces_within_a_molecule_are_minus_the_gradient() {
        for turn in [0.0, 1.0, 2.5] {
            let mut place = molecule(3.0, turn);
            place[4] += 0.1;
            place[8] += 0.2;
            assert_near(&within(&place).1, &differences(&place, |place| within(place).0));
        }
        assert!(within(&molecule(0.0, 0.0)).0 < 1.0);
    }

    fn between(field: &Field, first: &Place, second: &Place) -> Option<Force> {
        field.lie(first, second).map(|lie| field.force(first, second, &lie))
    }

    #[test]
    fn forces_between_molecules_are_minus_the_gradient_and_opposite() {
        let field = Field::new(20.0);
        // Near, fading, and near by the image behind the border.
        for x in [2.7, 4.0, 9.2, 9.9, 10.7, 16.5, -17.0, 43.0] {
            let first = molecule(0.0, 0.4);
            let second = molecule(x, 2.0);
            let force = between(&field, &first, &second).unwrap();
            let potential = |one: &Place, other: &Place| {
                between(&field, one, other).map_or(0.0, |force| force.potential)
            };
            assert_near(&force.on_first, &differences(&first, |first| potential(first, &second)));
            assert_near(&force.on_second, &differences(&second, |other| potential(&first, other)));
            for axis in 0..3 {
                let total: f64 = (0..3)
                    .map(|atom| 3 * atom + axis)
                    .map(|at| force.on_first[at] + force.on_second[at])
                    .sum();
                assert!(total.abs() < 1e-10, "{total}");
            }
            assert!(!force.is_close);
        }
    }

    #[test]
    fn interaction_ends_smoothly_at_half_of_the_box() {
        let field = Field::new(20.0);
        let at = |x| between(&field, &molecule(0.0, 0.4), &molecule(x, 2.0));
        assert!(at(10.0).is_none() && at(-10.0).is_none() && at(30.0).is_none());
        assert!(at(9.9999).unwrap().potential.abs() < 1e-9);
        let [inside, fading] = [8.9999, 9.0001].map(|x| at(x).unwrap().potential);
        assert!((inside - fading).abs() < 1e-4);
    }

    #[test]
    fn far_molecules_are_dipoles() {
        let field = Field::new(100.0);
        let force = between(&field, &molecule(0.0, 0.0), &molecule(30.0, 0.0)).unwrap();
        let dipole = 2.0 * CHARGES[1] * BOND * HALF_ANGLE[0];
        let expected = -2.0 * COULOMB * dipole * dipole / 30.0_f64.powi(3);
        assert!((force.potential / expected - 1.0).abs() < 0.05, "{} {expected}", force.potential);
    }

    #[test]
    fn atoms_that_overlap_are_seen() {
        let field = Field::new(20.0);
        assert!(between(&field, &molecule(0.0, 0.0), &molecule(1.5, 2.0)).unwrap().is_close);
        let mut near = molecule(3.0, 0.0);
        let first = molecule(0.0, 0.0);
        near[3..6].copy_from_slice(&first[3..6]);
        assert!(between(&field, &first, &near).unwrap().is_close);
    }
}
