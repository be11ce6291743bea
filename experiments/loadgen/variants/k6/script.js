// Requests one URL over and over, or RATE times a second, and prints the sums at the end.
import http from 'k6/http';

export const options = {
  discardResponseBodies: true,
  insecureSkipTLSVerify: true,
  summaryTrendStats: ['avg', 'p(95)', 'p(99)', 'max'],
};

if (__ENV.RATE) {
  options.scenarios = {
    rate: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS}s`,
      preAllocatedVUs: Number(__ENV.VUS),
      maxVUs: Number(__ENV.VUS),
    },
  };
}

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary(data) {
  const values = Object.entries(data.metrics).map(([name, metric]) => [name, metric.values]);
  return { stdout: JSON.stringify(Object.fromEntries(values)) };
}
