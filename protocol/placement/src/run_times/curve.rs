//! The time of a routine over the amount of its work: a curve through what was measured, straight
//! in logarithms where nothing was.

use std::collections::BTreeMap;

/// Neighboring measurements within this much of a logarithm are one point: 20 %.
const STEP: f64 = 0.18;
/// A curve has at most so many points: they cover 17 powers of ten at the usual density.
const POINTS_MAX: usize = 220;
/// How far a point is felt.
const REACH: f64 = 0.5;
/// What the usual slope weighs against measurements: time grows as the work does.
const PRIOR_WEIGHT: f64 = 0.25;
/// The least part that a new measurement has in its point.
const FORGETTING: f64 = 0.3;

#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
    seen: f64,
}

/// Logarithms of times over logarithms of amounts.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    points: BTreeMap<i64, Point>,
}

impl Curve {
    /// A measurement.
    pub fn observe(&mut self, x: f64, y: f64) {
        let bin = (x / STEP).floor() as i64;
        let point = self.points.entry(bin).or_insert(Point { x, y, seen: 0.0 });
        point.seen += 1.0;
        let part = (1.0 / point.seen).max(FORGETTING);
        point.x += (x - point.x) * part;
        point.y += (y - point.y) * part;
        if self.points.len() > POINTS_MAX {
            self.points.pop_first();
        }
    }

    /// The time at `x`: a straight line through what is near, each point the less the farther it
    /// is (Cleveland 1979); beyond the last point the line goes on with nearly the usual slope.
    pub fn value(&self, x: f64) -> Option<f64> {
        let nearest = self.distance(x)?;
        let reach = REACH.max(nearest);
        let mut sums = Sums::default();
        for point in self.points.values() {
            let distance = (point.x - x) / reach;
            sums.add(point, (-distance * distance).exp() * point.seen.min(8.0));
        }
        Some(sums.line_at(x))
    }

    fn distance(&self, x: f64) -> Option<f64> {
        self.points.values().map(|point| (point.x - x).abs()).min_by(f64::total_cmp)
    }
}

/// Weighted sums of a straight line's fit.
#[derive(Default)]
struct Sums {
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Sums {
    fn add(&mut self, point: &Point, weight: f64) {
        self.weight += weight;
        self.x += weight * point.x;
        self.y += weight * point.y;
        self.xx += weight * point.x * point.x;
        self.xy += weight * point.x * point.y;
    }

    fn line_at(&self, x: f64) -> f64 {
        let mean_x = self.x / self.weight;
        let mean_y = self.y / self.weight;
        let spread = (self.xx - self.x * mean_x).max(0.0);
        let together = self.xy - self.x * mean_y;
        // The usual slope is one measurement more, so that two points side by side do not decide.
        let prior = PRIOR_WEIGHT * self.weight;
        let slope = (together + prior) / (spread + prior);
        mean_y + slope.clamp(0.0, 3.0) * (x - mean_x)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn measured(points: &[(f64, f64)]) -> Curve {
        let mut curve = Curve::default();
        points.iter().for_each(|(amount, seconds)| curve.observe(amount.ln(), seconds.ln()));
        curve
    }

    #[test]
    fn one_measurement_is_scaled_with_the_work() {
        let seconds = measured(&[(1e6, 0.1)]).value(4e6_f64.ln()).unwrap().exp();
        assert!((seconds - 0.4).abs() < 0.01, "{seconds}");
    }

    #[test]
    fn measurements_decide_where_they_are() {
        // A fixed cost, and work beyond it.
        let time = |amount: f64| 0.01 + amount * 1e-9;
        let points: Vec<(f64, f64)> =
            (0..40).map(|at| 10f64.powf(4.0 + f64::from(at) / 8.0)).map(|a| (a, time(a))).collect();
        let curve = measured(&points);
        for amount in [3e4_f64, 2e6, 7e7, 3e8] {
            let error = curve.value(amount.ln()).unwrap().exp() / time(amount);
            assert!((0.85..1.15).contains(&error), "{amount}: {error}");
        }
    }
}
