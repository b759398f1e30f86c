//! Forecasts a series of measurements by the simple predictor that erred least lately.
//!
//! No single predictor suits all series: a link that others use jumps, one of one's own drifts. The
//! Network Weather Service (Wolski, Spring, Hayes 1999) runs a few simple ones side by side, and
//! answers with the one whose recent error is the smallest.

use std::collections::VecDeque;

/// Measurements that are kept: what the longest window needs.
const WINDOW: usize = 15;
/// What an older error counts against the next one.
const FORGETTING: f64 = 0.85;

/// The predictors. Each looks at the measurements so far.
const PREDICTORS: [Predictor; 6] = [
    Predictor::Last,
    Predictor::Mean(5),
    Predictor::Mean(WINDOW),
    Predictor::Median(5),
    Predictor::Median(WINDOW),
    Predictor::Trend,
];

#[derive(Clone, Copy, Debug)]
enum Predictor {
    /// The last measurement.
    Last,
    /// The mean of the last few.
    Mean(usize),
    /// The median of the last few: outliers do not move it.
    Median(usize),
    /// Halfway from the last forecast of this predictor to the last measurement.
    Trend,
}

/// A series, and what is expected next.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    recent: VecDeque<f64>,
    smoothed: f64,
    /// Of each predictor the discounted sum of its errors.
    errors: [f64; PREDICTORS.len()],
    /// The discounted count of them.
    weight: f64,
    seen: u64,
    /// What the best predictor says now.
    expected: f64,
}

impl Forecast {
    /// A measurement. One that is no number, or infinite, is left out.
    pub fn observe(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.seen > 0 {
            self.charge(value);
        }
        self.smoothed = if self.seen == 0 { value } else { (self.smoothed + value) / 2.0 };
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(value);
        self.seen += 1;
        // Asked far more often than measured.
        self.expected = self.predict(PREDICTORS[self.best()]);
    }

    /// Each predictor pays for what it would have said.
    fn charge(&mut self, value: f64) {
        for (at, predictor) in PREDICTORS.iter().enumerate() {
            let error = (self.predict(*predictor) - value).abs();
            self.errors[at] = self.errors[at] * FORGETTING + error;
        }
        self.weight = self.weight * FORGETTING + 1.0;
    }

    /// What is expected next; nothing before the first measurement.
    pub fn value(&self) -> Option<f64> {
        (self.seen > 0).then_some(self.expected)
    }

    /// By how much the forecasts of the best predictor were wrong lately, on average; nothing before
    /// the second measurement.
    pub fn error(&self) -> Option<f64> {
        (self.seen > 1).then(|| self.errors[self.best()] / self.weight)
    }

    /// Measurements so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The predictor with the smallest error; of equals the first.
    fn best(&self) -> usize {
        let mut best = 0;
        for at in 1..self.errors.len() {
            if self.errors[at] < self.errors[best] {
                best = at;
            }
        }
        best
    }

    fn predict(&self, predictor: Predictor) -> f64 {
        match predictor {
            Predictor::Last => self.recent.back().copied().unwrap_or_default(),
            Predictor::Mean(count) => self.mean(count),
            Predictor::Median(count) => self.median(count),
            Predictor::Trend => self.smoothed,
        }
    }

    fn mean(&self, count: usize) -> f64 {
        let count = count.min(self.recent.len());
        self.recent.iter().rev().take(count).sum::<f64>() / count as f64
    }

    fn median(&self, count: usize) -> f64 {
        let mut last: Vec<f64> = self.recent.iter().rev().take(count).copied().collect();
        last.sort_by(f64::total_cmp);
        last[last.len() / 2]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn after(values: impl IntoIterator<Item = f64>) -> Forecast {
        let mut forecast = Forecast::default();
        values.into_iter().for_each(|value| forecast.observe(value));
        forecast
    }

    #[test]
    fn nothing_is_said_before_the_first_measurement() {
        assert_eq!((Forecast::default().value(), Forecast::default().error()), (None, None));
        assert_eq!((after([3.0]).value(), after([3.0]).error()), (Some(3.0), None));
    }

    #[test]
    fn one_outlier_does_not_move_the_forecast() {
        let forecast = after((0..20).map(|at| if at == 18 { 100.0 } else { 2.0 }));
        assert_eq!(forecast.value(), Some(2.0));
    }

    #[test]
    fn a_series_that_changes_for_good_is_followed() {
        let forecast = after((0..12).map(|at| if at < 6 { 1.0 } else { 10.0 }));
        assert!((forecast.value().unwrap() - 10.0).abs() < 0.5, "{forecast:?}");
    }

    #[test]
    fn noise_is_averaged_rather_than_repeated() {
        let noisy = |at: u64| 10.0 + if at.is_multiple_of(2) { 3.0 } else { -3.0 };
        let forecast = after((0..40).map(noisy));
        assert!((forecast.value().unwrap() - 10.0).abs() < 2.0, "{forecast:?}");
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let forecast = after([1.0, f64::NAN, f64::INFINITY, 1.0]);
        assert_eq!((forecast.value(), forecast.seen()), (Some(1.0), 2));
    }
}
