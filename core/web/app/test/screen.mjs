// Opens the screen of a core in headless Chromium and does what operators do. Usage: screen.mjs CHROMIUM URL PASSWORD.
// `do: register IMSI` on standard output asks whoever started this for a UE's registration. Any complaint of the browser
// is a failure: an error on its console, a violation of the content security policy, a request to another host.
import puppeteer from 'puppeteer-core';

const [chromium, url, password] = process.argv.slice(2);
const PATIENCE_MS = 90_000;
const PAGES = ['overview', 'ues', 'gnbs', 'upfs', 'subscribers', 'refusals', 'users'];
const complaints = [];
// Statuses of requests that the steps mean to be refused, which Chromium tells on the console.
const expected = [];

const browser = await puppeteer.launch({
  executablePath: chromium,
  headless: true,
  timeout: PATIENCE_MS,
  protocolTimeout: PATIENCE_MS * 2,
  args: ['--no-sandbox', '--no-proxy-server', '--disable-gpu', '--disable-dev-shm-usage'],
});
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE_MS);

page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
page.on('console', (message) => {
  if (!['error', 'warn'].includes(message.type())) return;
  const status = /Failed to load resource.*status of (\d+)/.exec(message.text())?.[1];
  const at = expected.indexOf(Number(status));
  if (at >= 0) expected.splice(at, 1);
  else complaints.push(`console: ${message.text()} ${message.location()?.url ?? ''}`);
});
page.on('request', (request) => {
  if (!request.url().startsWith(url)) complaints.push(`request to ${request.url()}`);
});
await page.evaluateOnNewDocument(() => {
  document.addEventListener('securitypolicyviolation', (event) =>
    console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`),
  );
});

function step(text) {
  console.log(`step: ${text}`);
}

function check(holds, text) {
  if (!holds) throw new Error(text);
}

/** Waits until an element has a text. */
async function has(selector, text) {
  const found = (selector, text) =>
    [...document.querySelectorAll(selector)].some((one) => one.textContent.includes(text));
  await page.waitForFunction(found, {}, selector, text).catch(async () => {
    const seen = await page.evaluate(() => document.body.innerText);
    throw new Error(`no "${text}" in ${selector}; the page says:\n${seen}`);
  });
}

async function fill(selector, text) {
  await page.waitForSelector(selector, { visible: true });
  await page.$eval(selector, (input) => input.select());
  await page.keyboard.press('Backspace');
  await page.type(selector, text);
}

async function press(text, within = 'body') {
  const button = await page.waitForSelector(`${within} ::-p-xpath(.//button[normalize-space()='${text}'])`, { visible: true });
  await button.click();
}

async function go(name) {
  await page.click(`nav a[href="#/${name}"]`);
  await page.waitForSelector(`nav a[href="#/${name}"][aria-current="page"]`);
}

async function enter(user, word) {
  await fill('input[name=user]', user);
  await fill('input[name=password]', word);
  await page.keyboard.press('Enter');
}

/** Asks the API from within the page, with its cookie; the status. */
function asked(path, method, headers, body) {
  const ask = async (path, method, headers, body) => (await fetch(path, { method, headers, body })).status;
  return page.evaluate(ask, path, method, headers, body);
}

async function logIn() {
  step('a wrong password is refused, the right one is not');
  const response = await page.goto(url);
  const policy = response.headers()['content-security-policy'] ?? '';
  check(/default-src 'self';.*frame-ancestors 'none'/.test(policy) && !policy.includes('unsafe'), `policy: ${policy}`);
  check(response.headers()['x-content-type-options'] === 'nosniff', 'nosniff is missing');
  await page.waitForSelector('input[name=user]');
  expected.push(401);
  check((await asked('/v1/ues', 'GET')) === 401, 'UEs are shown to strangers');
  expected.push(401);
  await enter('ada', 'not this one');
  await has('[role=alert]', 'name or password is wrong');
  await enter('ada', password);
  await has('#ues-registered', '1');
  const [cookie] = await browser.cookies();
  check(cookie.httpOnly && cookie.sameSite === 'Strict', `cookie: ${JSON.stringify(cookie)}`);
  await page.waitForSelector('.dot.live');
}

async function ues() {
  step('UEs are seen, and searched by their IMSIs');
  await go('ues');
  await has('tbody td', '001010000000003');
  await fill('input[name=imsi]', '99970');
  await has('tbody td', 'No UE whose IMSI begins with 99970');
  await fill('input[name=imsi]', '0010100');
  await has('tbody td', '001010000000003');
  await page.click('tbody a');
  await has('h1', 'UE 001010000000003');
  await has('#ue-state', 'connected');
  await has('[role=log]', 'Registration Complete');
}

async function subscribers(k, opc) {
  step('a subscriber is added; what is wrong with it is told first');
  await go('subscribers');
  await has('tbody td', '001010000000003');
  await press('Add a subscriber');
  await fill('dialog input[name=imsi]', '001010000000007');
  await fill('dialog input[name=k]', 'abc');
  await fill('dialog input[name=opc]', opc);
  expected.push(422);
  await page.keyboard.press('Enter');
  await has('dialog [role=alert]', 'k');
  await fill('dialog input[name=k]', k);
  await page.keyboard.press('Enter');
  await has('[role=status]', '001010000000007 is added');
  await has('tbody td', '001010000000007');
  check(!(await page.content()).includes(k), 'a key is shown');
}

async function flow() {
  step('a call flow is followed while the UE registers');
  await go('ues');
  await fill('input[name=imsi]', '001010000000007');
  await page.keyboard.press('Enter');
  await has('#ue-state', 'not registered');
  await has('[role=log]', 'Nothing has been said');
  console.log('do: register 001010000000007');
  for (const message of ['Registration Request', 'Authentication', 'Security Mode', 'Registration Complete']) {
    await has('[role=log] .what', message);
  }
  await has('#ue-state.connected', 'connected');
}

async function others() {
  step('gNBs, UPFs and refusals are seen');
  await go('gnbs');
  await has('tbody td', 'gnb-5');
  await go('upfs');
  await has('tbody .state.up', 'up');
  await go('refusals');
  await has('.refusals', '0000000009');
  await has('.refusals em', 'add the subscriber');
}

async function deregister() {
  step('a UE is deregistered');
  await page.goto(`${url}/#/ues/001010000000007`);
  await has('#ue-state', 'connected');
  await press('Deregister');
  await press('Deregister', 'dialog[open]');
  await has('#ue-state', 'not registered');
}

async function shapes() {
  step('the keyboard, phones, and the dark');
  await page.goto(`${url}/#/overview`);
  await page.reload();
  await page.waitForSelector('.tiles');
  await page.keyboard.press('Tab');
  check(await page.evaluate(() => document.activeElement.className === 'skip'), 'the first stop is no skip link');
  await page.keyboard.press('Enter');
  check(await page.evaluate(() => document.activeElement.id === 'content'), 'the skip link does not skip');
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  const light = await back();
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  check((await back()) !== light, 'dark is as light');
  await page.setViewport({ width: 360, height: 740 });
  for (const name of [...PAGES, 'ues/001010000000003']) {
    await page.goto(`${url}/#/${name}`);
    await page.waitForSelector('h1');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    check(width <= 360, `${name} is ${width} pixels wide on a phone`);
  }
  await page.setViewport({ width: 1280, height: 800 });
}

async function viewer() {
  step('a viewer sees everything, and changes nothing');
  await go('users');
  await press('Add a user');
  await fill('dialog input[name=name]', 'vic');
  await fill('dialog input[name=password]', password);
  await press('Save', 'dialog[open]');
  await has('[role=status]', 'vic is added');
  await press('Log out');
  await enter('vic', password);
  await has('header .who', 'viewer');
  check((await page.$('nav a[href="#/users"]')) === null, 'a viewer is shown the users');
  await go('subscribers');
  await has('tbody td', '001010000000007');
  const texts = await page.$$eval('main button', (all) => all.map((one) => one.textContent));
  check(!texts.some((text) => /Add|Change|Remove/.test(text)), `a viewer is shown ${texts}`);
  const csrf = await page.evaluate(async () => (await (await fetch('/v1/session')).json()).csrf);
  check(csrf.length === 64, 'no CSRF token');
  for (const [path, method, headers] of [
    ['/v1/subscribers/001010000000007', 'DELETE', { 'X-CSRF-Token': csrf }],
    ['/v1/ues/001010000000003', 'DELETE', { 'X-CSRF-Token': csrf }],
    ['/v1/ues/001010000000003', 'DELETE', {}],
    ['/v1/users/vic', 'PUT', { 'X-CSRF-Token': csrf, 'Content-Type': 'application/json' }],
    ['/v1/users', 'GET', {}],
  ]) {
    expected.push(403);
    const body = method === 'PUT' ? '{"role": "admin"}' : undefined;
    const status = await asked(path, method, headers, body);
    check(status === 403, `${method} ${path} of a viewer is answered with ${status}`);
  }
  await press('Log out');
  await page.waitForSelector('input[name=user]');
  expected.push(401);
  check((await asked('/v1/ues', 'GET')) === 401, 'UEs are shown after the log-out');
}

try {
  await logIn();
  await ues();
  await subscribers('46'.repeat(16), 'e8'.repeat(16));
  await flow();
  await others();
  await deregister();
  await shapes();
  await viewer();
  check(complaints.length === 0, complaints.join('\n'));
  check(expected.length === 0, `refusals that nobody saw: ${expected}`);
  console.log('all is well');
} catch (error) {
  console.log(`failed: ${error.message}\n${complaints.join('\n')}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
