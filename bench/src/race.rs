//! Variants measured in turn, round by round.
//!
//! 1. A [`Race`] collects variants: a name and something that measures one round of it.
//! 2. [`Race::run`] gives each variant one round after the other, starting with another one each time.
//! 3. Of each variant's rounds the quieter half (by median) is pooled: other tenants of the machine come and go,
//!    and what they cost belongs to nobody here.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The pause of an agent between two calls: long enough for the daemon to have finished everything.
pub(crate) const THINK: Duration = Duration::from_millis(2);

type Measure<'a> = Box<dyn FnMut() -> Result<Vec<f64>> + 'a>;

#[derive(Default)]
pub(crate) struct Race<'a> {
    variants: Vec<(String, Measure<'a>)>,
}

impl<'a> Race<'a> {
    /// `measure` runs one round and returns its samples.
    pub(crate) fn add(&mut self, name: impl Into<String>, measure: impl FnMut() -> Result<Vec<f64>> + 'a) {
        self.variants.push((name.into(), Box::new(measure)));
    }

    pub(crate) fn run(mut self, rounds: usize) -> Result<Results> {
        let count = self.variants.len();
        let mut samples: Vec<Vec<Vec<f64>>> = vec![Vec::new(); count];
        for round in 0..rounds {
            for step in 0..count {
                let turn = (round + step) % count;
                let (name, measure) = &mut self.variants[turn];
                samples[turn].push(measure().with_context(|| name.clone())?);
            }
        }
        let names = self.variants.into_iter().map(|(name, _)| name);
        Ok(Results(names.zip(samples.into_iter().map(quieter_half)).collect()))
    }
}

fn quieter_half(mut rounds: Vec<Vec<f64>>) -> Vec<f64> {
    for round in &mut rounds {
        round.sort_by(f64::total_cmp);
    }
    rounds.sort_by(|a, b| quantile(a, 0.5).total_cmp(&quantile(b, 0.5)));
    rounds.truncate(rounds.len().div_ceil(2));
    let mut pooled = rounds.concat();
    pooled.sort_by(f64::total_cmp);
    pooled
}

/// Of sorted samples; NaN when there are none, which meets no bar.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * q) as usize).copied().unwrap_or(f64::NAN)
}

/// The pooled samples of each variant, sorted.
pub(crate) struct Results(HashMap<String, Vec<f64>>);

impl Results {
    pub(crate) fn p50(&self, name: &str) -> Result<f64> {
        self.at(name, 0.5)
    }

    pub(crate) fn p99(&self, name: &str) -> Result<f64> {
        self.at(name, 0.99)
    }

    /// What it takes when nobody is in the way.
    pub(crate) fn p05(&self, name: &str) -> Result<f64> {
        self.at(name, 0.05)
    }

    pub(crate) fn mean(&self, name: &str) -> Result<f64> {
        let samples = self.0.get(name).with_context(|| format!("{name} was not measured"))?;
        Ok(samples.iter().sum::<f64>() / samples.len() as f64)
    }

    fn at(&self, name: &str, q: f64) -> Result<f64> {
        let samples = self.0.get(name).with_context(|| format!("{name} was not measured"))?;
        Ok(quantile(samples, q))
    }
}

/// Microseconds `work` takes.
pub(crate) fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// `count` calls with think time before each; `call` returns what it wants counted.
pub(crate) fn thoughtful(count: usize, mut call: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    (0..count)
        .map(|_| {
            std::thread::sleep(THINK);
            call()
        })
        .collect()
}

/// `count` calls without a pause; one sample, the mean, since a call may pay for what the last one left over.
pub(crate) fn back_to_back(count: usize, mut call: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let total = timed(|| (0..count).try_for_each(|_| call()))?;
    Ok(vec![total / count as f64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noisy_half_is_left_out() {
        let pooled = quieter_half(vec![vec![9.0, 9.0, 9.0], vec![2.0, 1.0, 3.0], vec![100.0], vec![2.0]]);
        assert_eq!(pooled, [1.0, 2.0, 2.0, 3.0]);
    }

    #[test]
    fn every_variant_gets_every_round() {
        let mut race = Race::default();
        race.add("a", || Ok(vec![1.0]));
        race.add("b", || Ok(vec![2.0, 4.0]));
        let results = race.run(3).unwrap();
        assert_eq!(results.p50("a").unwrap(), 1.0);
        assert_eq!((results.p50("b").unwrap(), results.p99("b").unwrap()), (2.0, 4.0));
        assert!(results.p50("c").is_err());
    }
}
