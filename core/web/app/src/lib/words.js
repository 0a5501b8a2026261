// Numbers, times and faults in words.

const STEPS = ['', 'k', 'M', 'G', 'T', 'P'];

function scaled(value, base) {
  let step = 0;
  while (value >= base && step < STEPS.length - 1) {
    value /= base;
    step += 1;
  }
  const digits = value >= 100 || step === 0 ? 0 : value >= 10 ? 1 : 2;
  return [value.toFixed(digits), STEPS[step]];
}

export function bitRate(bps) {
  if (bps === null || bps === undefined) return '–';
  const [value, step] = scaled(bps, 1000);
  return `${value} ${step}bit/s`;
}

export function octets(count) {
  if (count === null || count === undefined) return '–';
  const [value, step] = scaled(count, 1000);
  return `${value} ${step}B`;
}

export function number(value) {
  return value === null || value === undefined ? '–' : value.toLocaleString('en');
}

export function span(seconds) {
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor((seconds % 86400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  if (minutes) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds)} s`;
}

export function clock(unixMs, withMs = false) {
  const time = new Date(unixMs);
  const two = (n) => String(n).padStart(2, '0');
  const text = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return withMs ? `${text}.${String(time.getMilliseconds()).padStart(3, '0')}` : text;
}

export function moment(unixS) {
  const time = new Date(unixS * 1000);
  const today = new Date().toDateString() === time.toDateString();
  return today ? clock(unixS * 1000) : `${time.toLocaleDateString('en-CA')} ${clock(unixS * 1000)}`;
}

/** A refusal with each of its faults. */
export function faults(refusal) {
  const told = refusal.problems?.told ?? [];
  const lines = told.map((one) =>
    [one.field, one.what, one.expected && `expected ${one.expected}`].filter(Boolean).join(': '),
  );
  return lines.length ? lines : [refusal.message];
}
