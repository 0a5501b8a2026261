// Management API: requests with the session's cookie and CSRF token, and streams of events.

/** A refusal of the core (RFC 9457), or a core that does not answer. */
export class Refusal extends Error {
  constructor(status, reason, detail, problems) {
    super(detail);
    Object.assign(this, { status, reason, problems });
  }
}

/** Who is logged in; `known` once the core has told. */
export const session = $state({
  known: false,
  logIn: 'users',
  user: null,
  role: null,
  csrf: null,
  version: '',
});

const ROLES = ['viewer', 'operator', 'admin'];

/** Whether the user has a role or a greater one. */
export function may(role) {
  return ROLES.indexOf(session.role) >= ROLES.indexOf(role);
}

/** Asks; gives the answer's object. */
export async function ask(path, method = 'GET', body = undefined) {
  const headers = {};
  if (method !== 'GET' && session.csrf) headers['X-CSRF-Token'] = session.csrf;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Refusal(0, 'unreachable', 'The core does not answer.');
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401 && session.user) await look();
  const detail = answer.detail ?? `The core answers with status ${response.status}.`;
  throw new Refusal(response.status, answer.reason, detail, answer.problems);
}

function take(told) {
  Object.assign(session, {
    known: true,
    logIn: told.log_in,
    user: told.user,
    role: told.role,
    csrf: told.csrf,
    version: told.version,
  });
}

export async function look() {
  take(await ask('/v1/session'));
}

export async function logIn(user, password) {
  take(await ask('/v1/session', 'POST', { user, password }));
}

export async function logOut() {
  take(await ask('/v1/session', 'DELETE'));
}

/**
 * Listens to a stream of events until the returned function is called, while the page is seen: a browser has few
 * connections for all its tabs. It connects again by itself; `state` gets 'live', 'lost' or 'new'.
 */
export function listen(path, handlers, state = () => {}) {
  let source = null;
  let timer;
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    source = new EventSource(path);
    source.onopen = () => state('live');
    source.onerror = () => {
      state('lost');
      // A refusal ends the stream: look again later.
      if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, 3000);
    };
    for (const [name, handler] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
    }
  };
  const seen = () => {
    if (!document.hidden) return open();
    close();
    state('new');
  };
  document.addEventListener('visibilitychange', seen);
  if (!document.hidden) open();
  return () => {
    document.removeEventListener('visibilitychange', seen);
    close();
  };
}

/** Calls again and again while the page is seen; the returned function ends it. */
export function again(work, everyMs = 3000) {
  let ended = false;
  let timer;
  const turn = async () => {
    if (!document.hidden) await work();
    if (!ended) timer = setTimeout(turn, everyMs);
  };
  turn();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
