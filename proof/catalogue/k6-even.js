// What k6 does for `cargo xtask truth`: requests at an even rate, each by whatever virtual user is free.
import http from 'k6/http';

export const options = {
  discardResponseBodies: true,
  scenarios: {
    even: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS}s`,
      preAllocatedVUs: Number(__ENV.VUS),
      maxVUs: Number(__ENV.VUS),
      gracefulStop: '10s',
    },
  },
};

export default function () {
  http.get(__ENV.URL);
}
