//! The distributions of delays: how long a request waits, as a function of seed and id.
//!
//! Each is drawn by its inverse distribution function from one number (the lognormal one by Box and Muller's formula
//! from two), because that is short, exact to the last bits of a float, and done again in any language in a line. It
//! knows no clock: a delay is a span, and what it is counted from is the server's to say.

use super::draw::{Stream, uniform};
use super::query::{Query, QueryError, share};
use std::f64::consts::TAU;
use std::str::FromStr;
use units::Nanos;

/// The longest delay; a distribution that would draw a longer one draws this. No client waits longer for a response, and a span of
/// this size keeps all its nanoseconds in a float.
pub const DELAY_MAX: Nanos = Nanos::from_secs(3600);
/// The largest sigma and shape: with sigma 20 one in three delays is beyond any limit already.
const NUMBER_MAX: f64 = 1000.0;

/// How long requests wait. Times are at most [`DELAY_MAX`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Always the same.
    Constant {
        /// That.
        mean: Nanos,
    },
    /// Anything between two times, one as likely as the other.
    Uniform {
        /// The shortest.
        low: Nanos,
        /// The longest.
        high: Nanos,
    },
    /// As the gaps of a Poisson process: P(delay > t) = exp(-t / mean).
    Exponential {
        /// The mean.
        mean: Nanos,
    },
    /// Its logarithm is normal: delay = median * exp(sigma * z).
    Lognormal {
        /// Half of all are shorter.
        median: Nanos,
        /// The standard deviation of the logarithm; above 0.
        sigma: f64,
    },
    /// With a long tail: P(delay > t) = (scale / t)^shape for t >= scale. At shape 1 and below it has no mean.
    Pareto {
        /// The shortest.
        scale: Nanos,
        /// How soon the tail thins out; above 0.
        shape: f64,
    },
    /// One of two.
    Bimodal {
        /// The one.
        low: Nanos,
        /// The other.
        high: Nanos,
        /// How many have `high`, from 0 to 1.
        share: f64,
    },
}

/// The names of all distributions, for the message about an unknown one.
const NAMES: &str = "constant, uniform, exponential, lognormal, pareto or bimodal";

/// How long request `id` waits. The same three give the same delay, always and everywhere.
pub fn delay(distribution: Distribution, seed: u64, id: u64) -> Nanos {
    let part = uniform(seed, Stream::Delay, id);
    let nanos = match distribution {
        Distribution::Constant { mean } => return mean.min(DELAY_MAX),
        Distribution::Uniform { low, high } => float(low) + part * (float(high) - float(low)),
        Distribution::Exponential { mean } => exponential(float(mean), part),
        Distribution::Lognormal { median, sigma } => {
            let angle = TAU * uniform(seed, Stream::Angle, id);
            float(median) * (sigma * (-2.0 * part.ln()).sqrt() * angle.cos()).exp()
        }
        Distribution::Pareto { scale, shape } => float(scale) * part.powf(-1.0 / shape),
        Distribution::Bimodal { low, high, share } => float(if part < share { high } else { low }),
    };
    span(nanos)
}

/// The inverse of the exponential distribution; `part` and 1 - `part` are alike, and this one has a logarithm.
pub(super) fn exponential(mean: f64, part: f64) -> f64 {
    -mean * part.ln()
}

fn float(span: Nanos) -> f64 {
    span.as_nanos() as f64
}

/// To the nearest nanosecond, at most [`DELAY_MAX`].
pub(super) fn span(nanos: f64) -> Nanos {
    Nanos::from_nanos(nanos.round() as u64).min(DELAY_MAX)
}

impl Distribution {
    /// Reads the distribution out of a query, and leaves the rest there.
    pub(super) fn take(query: &mut Query<'_>) -> Result<Distribution, QueryError> {
        let distribution = match query.need("law", "name one such as law=constant&mean=5ms")? {
            "constant" => Distribution::Constant {
                mean: query.time("mean", DELAY_MAX)?,
            },
            "uniform" => Distribution::Uniform {
                low: query.time("low", DELAY_MAX)?,
                high: query.time("high", DELAY_MAX)?,
            },
            "exponential" => Distribution::Exponential {
                mean: query.time("mean", DELAY_MAX)?,
            },
            "lognormal" => Distribution::Lognormal {
                median: query.time("median", DELAY_MAX)?,
                sigma: query.number("sigma", NUMBER_MAX)?,
            },
            "pareto" => Distribution::Pareto {
                scale: query.time("scale", DELAY_MAX)?,
                shape: query.number("shape", NUMBER_MAX)?,
            },
            "bimodal" => Distribution::Bimodal {
                low: query.time("low", DELAY_MAX)?,
                high: query.time("high", DELAY_MAX)?,
                share: share(
                    "share",
                    query.need("share", "say how many have `high`, from 0 to 1")?,
                )?,
            },
            other => {
                return Err(QueryError::value("law", other, "a law", NAMES));
            }
        };
        distribution.sound()
    }

    fn sound(self) -> Result<Distribution, QueryError> {
        match self {
            Distribution::Uniform { low, high } | Distribution::Bimodal { low, high, .. }
                if low > high =>
            {
                Err(QueryError::new("`low=` is above `high=`; swap them"))
            }
            distribution => Ok(distribution),
        }
    }
}

impl FromStr for Distribution {
    type Err = QueryError;

    /// Reads what a URL says behind `/delay?`, without an id: `law=exponential&mean=5ms`.
    fn from_str(text: &str) -> Result<Distribution, QueryError> {
        let mut query = Query::new(text)?;
        let distribution = Distribution::take(&mut query)?;
        query.end().map(|()| distribution)
    }
}

#[cfg(test)]
mod tests;
