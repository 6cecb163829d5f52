// A headless Chromium with a fresh profile, and pages that must neither complain nor ask a network
// for anything.
import assert from 'node:assert/strict';
import {accessSync, constants, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {delimiter, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const skipped = 77;  // what ctest takes for "skipped"

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(skipped);
}

function findBrowser() {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // not there
      }
    }
  }
  return undefined;
}

async function library() {
  try {
    return (await import('playwright-core')).chromium;
  } catch {
    return skip('playwright-core is missing (tools/setup.sh --with-checks)');
  }
}

// Runs test(context) with a browser and a folder of its own, both gone afterwards.
// context: build, folder, open(page file, options), and what the pages said.
export async function withBrowser(test) {
  const chromium = await library();
  const executablePath = findBrowser() ?? skip('there is no chromium');
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-browser-'));
  const browser = await chromium.launch({executablePath, headless: true, timeout: 60000,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync']});
  const complaints = [];
  try {
    await test({browser, folder, build: resolve(process.argv[2] ?? 'build'), complaints,
      open: (file, options) => openPage(browser, complaints, file, options)});
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
    rmSync(folder, {recursive: true, force: true});
  }
}

async function openPage(browser, complaints, file, options = {}) {
  const context = await browser.newContext({viewport: {width: 1200, height: 900},
    acceptDownloads: true, ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  return page;
}

// Draws every figure, near the window or not.
export async function drawAll(page) {
  await page.evaluate(() => trainyard.views.forEach((view) => view.begin()));
}

// The text of the file that a figure's button gives.
export async function downloadCsv(page, id) {
  const waiting = page.waitForEvent('download');
  await page.locator(`#${id} button`, {hasText: /^CSV$/}).click();
  const stream = await (await waiting).createReadStream();
  let text = '';
  for await (const part of stream) text += part;
  return text;
}
