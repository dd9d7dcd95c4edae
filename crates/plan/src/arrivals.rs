//! Arrival processes by name: how the arrivals of an open loop are spaced. Each is a file in `pacing/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::{Nanos, Rate, exact};

/// Arrival process of an open loop. Whatever it is, the rate of the load is its mean rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random: gaps are exponential and independent, as of many independent users.
    #[default]
    Poisson,
    /// Evenly spaced.
    Constant,
    /// Evenly spaced within the first part of each period, and none in the rest of it.
    Bursts {
        /// Length of a burst.
        within: Nanos,
        /// From the beginning of a burst to that of the next.
        every: Nanos,
    },
    /// At random while it is on, and none while it is off.
    OnOff {
        /// Length of a span with arrivals.
        on: Nanos,
        /// Length of the silence after it.
        off: Nanos,
    },
    /// At a rate that changes linearly over the window; the rate of the load is that of the whole window.
    Ramp {
        /// Rate of the warm-up and at the start of the window.
        from: Rate,
        /// Rate at its end.
        to: Rate,
        /// Length of the warm-up.
        after: Nanos,
        /// Length of the window.
        over: Nanos,
        /// Whether they are evenly spaced; otherwise at random.
        even: bool,
    },
}

impl Arrivals {
    /// Returns whether the number of arrivals in a span of time varies by chance.
    pub fn is_random(self) -> bool {
        self.steady() == Arrivals::Poisson
    }

    /// Returns the process at a rate that does not change.
    pub fn steady(self) -> Arrivals {
        match self {
            Arrivals::Poisson | Arrivals::OnOff { .. } | Arrivals::Ramp { even: false, .. } => {
                Arrivals::Poisson
            }
            Arrivals::Ramp { even: true, .. } | Arrivals::Constant | Arrivals::Bursts { .. } => {
                Arrivals::Constant
            }
        }
    }

    /// Returns after how long it repeats itself; none where it is the same at all times. Only over whole periods is the
    /// mean rate that of the load.
    pub fn period(self) -> Option<Nanos> {
        match self {
            Arrivals::Poisson | Arrivals::Constant | Arrivals::Ramp { .. } => None,
            Arrivals::Bursts { every, .. } => Some(every),
            Arrivals::OnOff { on, off } => Some(on + off),
        }
    }
}

impl FromStr for Arrivals {
    type Err = String;

    /// Reads `poisson`, `constant`, `bursts:10ms/1s` or `on-off:300ms/700ms`.
    fn from_str(text: &str) -> Result<Arrivals, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let times =
            || Some(rest.split_once('/')?).and_then(|(a, b)| a.parse().ok().zip(b.parse().ok()));
        let read = match (name, times()) {
            _ if text == "poisson" => Some(Arrivals::Poisson),
            _ if text == "constant" => Some(Arrivals::Constant),
            ("bursts", Some((within, every))) if Nanos::ZERO < within && within < every => {
                Some(Arrivals::Bursts { within, every })
            }
            ("on-off", Some((on, off))) if on.min(off) > Nanos::ZERO => {
                Some(Arrivals::OnOff { on, off })
            }
            _ => None,
        };
        read.ok_or_else(|| {
            format!(
                "`{text}` is no arrival process; write poisson, constant, bursts:WITHIN/EVERY such as bursts:10ms/1s, or on-off:ON/OFF \
                 such as on-off:300ms/700ms"
            )
        })
    }
}

impl fmt::Display for Arrivals {
    /// Writes what [`Arrivals::from_str`] reads; a ramp with its rates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let typed = |span| exact(span).replace(' ', "");
        match *self {
            Arrivals::Poisson => f.write_str("poisson"),
            Arrivals::Constant => f.write_str("constant"),
            Arrivals::Bursts { within, every } => {
                write!(f, "bursts:{}/{}", typed(within), typed(every))
            }
            Arrivals::OnOff { on, off } => write!(f, "on-off:{}/{}", typed(on), typed(off)),
            Arrivals::Ramp { from, to, .. } => {
                write!(
                    f,
                    "{}, ramp:{}..{}",
                    self.steady(),
                    from.as_f64(),
                    to.as_f64()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_as_it_is_shown_and_anything_else_is_refused_with_the_forms() {
        for text in [
            "poisson",
            "constant",
            "bursts:10ms/1s",
            "bursts:1.5s/2.5s",
            "on-off:2s/30ms",
        ] {
            let read: Arrivals = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        for text in [
            "",
            "even",
            "poisson:1ms/1s",
            "bursts",
            "bursts:10ms",
            "bursts:1s/1s",
            "bursts:0s/1s",
            "bursts:1ms/1s/1s",
            "on-off:0s/1s",
            "on-off:1s/0s",
        ] {
            let why = text.parse::<Arrivals>().unwrap_err();
            assert!(why.contains("such as bursts:10ms/1s"), "{why}");
        }
    }
}
