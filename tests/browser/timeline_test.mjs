// The timeline: what it shows of a bar, zooming and panning, lanes, and that no busy lane is empty.
import assert from 'node:assert/strict';
import {downloadCsv, drawAll, withBrowser} from './browser.mjs';
import * as fixtures from './fixtures.mjs';

const id = 'run-1-timeline';

const windowOf = (page) => page.evaluate((figure) => {
  const [zoom] = document.getElementById(figure).view.chart.getOption().dataZoom;
  return [zoom.startValue, zoom.endValue];
}, id);

// Moves the pointer to a time of a lane; gives the text of what shows up.
async function hover(page, time, row) {
  await page.locator(`#${id} .plot`).scrollIntoViewIfNeeded();
  const [x, y] = await page.evaluate(([figure, t, lane]) => {
    const {chart, plot} = document.getElementById(figure).view;
    const box = plot.getBoundingClientRect();
    const [left, top] = chart.convertToPixel('grid', [t, lane]);
    return [box.left + left, box.top + top];
  }, [id, time, row]);
  await page.mouse.move(x, y);
  await page.waitForTimeout(50);
  const tip = page.locator(`#${id} .tip`);
  return await tip.isVisible() ? tip.locator('b, span').allTextContents() : [];
}

const pairs = (texts) => Object.fromEntries(Array.from({length: (texts.length - 1) / 2}, (_, i) =>
  [texts[2 * i + 1], texts[2 * i + 2]]));

async function tooltips(page) {
  const texts = await hover(page, 3.7, 5);  // rank 1, data: from 3.5 s for 0.4375 s
  assert.equal(texts[0], 'all-reduce');
  assert.deepEqual(pairs(texts), {number: '0', start: '3.5 s', duration: '437.5 ms',
    bytes: '933 MB', rank: '1', stream: 'data', stage: '1', role: 'network'});
  assert.deepEqual(await hover(page, 2.9, 5), [], 'nothing runs there');
  await page.locator(`#${id} .legend button`, {hasText: 'network'}).click();
  assert.deepEqual(await hover(page, 3.7, 5), [], 'what is hidden has no tooltip');
  await page.locator(`#${id} .legend button`, {hasText: 'network'}).click();
}

async function zooming(page) {
  await page.locator(`#${id} .plot`).focus();
  await page.keyboard.press('+');
  assert.deepEqual(await windowOf(page), [3.9375 / 4, 3.9375 * 3 / 4]);
  await page.keyboard.press('ArrowRight');
  const [from, to] = await windowOf(page);
  assert.ok(Math.abs(from - 3.9375 * (0.25 + 0.1)) < 1e-9);
  assert.ok(Math.abs(to - from - 3.9375 / 2) < 1e-9);
  await page.keyboard.press('-');
  assert.deepEqual(await windowOf(page), [0, 3.9375]);
  await page.locator(`#${id} button[aria-label="Zoom in"]`).click();
  await page.locator(`#${id} button[aria-label="Zoom in"]`).click();
  const [start, end] = await windowOf(page);
  assert.ok(Math.abs(end - start - 3.9375 / 4) < 1e-9);
  await page.locator(`#${id} button`, {hasText: 'Whole run'}).click();
  await hover(page, 1, 5);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -300);
  await page.keyboard.up('Control');
  await page.waitForTimeout(100);
  const [wheelFrom, wheelTo] = await windowOf(page);
  assert.ok(wheelTo - wheelFrom < 3.9375 && wheelFrom < 1 && wheelTo > 1);
  await page.locator(`#${id} .plot`).focus();
  await page.keyboard.press('Home');
  assert.deepEqual(await windowOf(page), [0, 3.9375]);
}

const scrolled = (page) => page.evaluate(() => scrollY);

// The wheel alone is the page's: it scrolls as it does elsewhere, and the timeline stays.
async function plainWheel(page) {
  await hover(page, 1, 5);
  const before = await scrolled(page);
  const seen = await windowOf(page);
  await page.mouse.wheel(0, 120);
  await page.waitForFunction((from) => scrollY === from + 120, before);
  await page.mouse.wheel(0, -120);
  await page.waitForFunction((from) => scrollY === from, before);
  assert.deepEqual(await windowOf(page), seen);
}

// With Shift it goes through the lanes, and the page stays.
async function shiftWheel(page) {
  await hover(page, 1, 3);
  const top = () => page.evaluate((figure) =>
    document.getElementById(figure).view.chart.getOption().dataZoom[2].startValue, id);
  const [before, from] = [await scrolled(page), await top()];
  await page.keyboard.down('Shift');
  await page.mouse.wheel(0, 120);
  await page.waitForTimeout(200);
  assert.deepEqual([await scrolled(page), await top()], [before, from + 3]);
  await page.mouse.wheel(0, -120);
  await page.keyboard.up('Shift');
  await page.waitForTimeout(200);
  assert.equal(await top(), from);
}

// n goes from operation to operation and says what it is.
async function keyboard(page, document) {
  await page.locator(`#${id} .plot`).focus();
  await page.keyboard.press('n');
  await page.keyboard.press('n');
  const {timeline} = document.recording;
  const said = await page.locator(`#${id} [aria-live]`).textContent();
  assert.match(said,
    new RegExp(`^${timeline.names[timeline.name[1]]}, number ${timeline.number[1]},`));
}

async function lanes(page) {
  const shown = () => page.evaluate((figure) =>
    document.getElementById(figure).view.chart.getOption().yAxis[0].data, id);
  assert.equal((await shown()).length, 24);
  await page.locator(`#${id} select[name=stream]`).selectOption('compute');
  assert.equal((await shown()).length, 8);
  await page.locator(`#${id} select[name=rank]`).selectOption('3');
  assert.deepEqual(await shown(), ['rank 3 compute']);
  await page.locator(`#${id} select[name=rank]`).selectOption('');
  await page.locator(`#${id} select[name=stream]`).selectOption('');
}

// Of several ranks to a stage the first is shown at first: here ranks 0, 2, 4 and 6 of four stages.
async function firstOfStages(page) {
  const shown = () => page.evaluate((figure) =>
    document.getElementById(figure).view.chart.getOption().yAxis[0].data, id);
  const ranks = async () => [...new Set((await shown()).map((label) => label.split(' ')[1]))];
  assert.deepEqual(await ranks(), ['0', '2', '4', '6']);
  await page.locator(`#${id} select[name=rank]`).selectOption('');
  assert.equal((await ranks()).length, 8);
}

function twoRanksToAStage() {
  const document = fixtures.run();
  for (const lane of document.recording.timeline.lanes) lane.stage = Math.floor(lane.rank / 2);
  return document;
}

async function csvEqualsData(page, {recording: {timeline: t}}) {
  const lines = (await downloadCsv(page, id)).trimEnd().split('\n').slice(1);
  assert.deepEqual(lines, t.lane.map((lane, i) => {
    const {rank, stream, stands_for: many} = t.lanes[lane];
    return [`rank ${rank} ${stream}${many > 1 ? ` (for ${many})` : ''}`, t.names[t.name[i]],
      t.roles[t.role[i]], t.number[i], t.start_s[i], t.duration_s[i], t.bytes[i] ?? ''].join();
  }));
}

// A lane of 30,000 bars far below a pixel, and one with a single such bar.
function tiny() {
  const document = fixtures.run();
  const count = 30000;
  const each = (make) => [...Array.from({length: count}, (_, i) => make(i)), make(count)];
  document.recording.timeline = {
    lanes: [{rank: 0, stream: 'compute', stage: 0, stands_for: 1},
      {rank: 1, stream: 'compute', stage: 0, stands_for: 1}],
    names: ['forward'], roles: ['compute'], lane: each((i) => (i < count ? 0 : 1)),
    name: each(() => 0), role: each(() => 0), number: each((i) => i),
    start_s: each((i) => (i < count ? i * 3.9375 / count : 2)),
    duration_s: each((i) => (i < count ? 3.9375 / count * 0.3 : 1e-9)), bytes: each(() => null),
    bars: count + 1, left_out: 0};
  return document;
}

// How many pixels of a lane have the color of computing, and how many it is wide.
const painted = (page, row) => page.evaluate(([figure, lane]) => {
  const {chart, plot} = document.getElementById(figure).view;
  const canvas = plot.querySelector('canvas');
  const scale = canvas.width / plot.clientWidth;
  const [left, y] = chart.convertToPixel('grid', [0, lane]);
  const [right] = chart.convertToPixel('grid', [3.9375, lane]);
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext('2d', {willReadFrequently: true});
  context.drawImage(canvas, 0, 0);
  const pixels = context.getImageData(left * scale, y * scale, (right - left) * scale, 1).data;
  let blue = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    if (pixels[i] < 40 && pixels[i + 1] > 80 && pixels[i + 2] > 140 && pixels[i + 3] > 200) ++blue;
  }
  return [blue, pixels.length / 4, scale];
}, [id, row]);

async function busyLanes({build, folder, open}) {
  const page = await open(fixtures.writePage(build, folder, 'tiny', tiny()));
  await drawAll(page);
  await page.waitForTimeout(100);
  const [blue, all] = await painted(page, 0);
  assert.ok(blue > 0.97 * all, `${blue} of ${all}`);
  const [lone, , scale] = await painted(page, 1);
  assert.ok(lone >= 1 && lone <= 2 * scale, `${lone}`);
  const texts = await hover(page, 2, 1);
  assert.equal(pairs(texts).duration, '1 ns');
}

// Lanes that a page has no room for are left out whole, and it says so.
async function tooMany({build, folder, open}) {
  const document = fixtures.run();
  document.recording.timeline = fixtures.timeline({ranks: 100, micro: 900});
  const page = await open(fixtures.writePage(build, folder, 'many', document));
  await drawAll(page);
  const [bars, shown] = await page.evaluate((figure) => {
    const {data, chart} = document.getElementById(figure).view;
    const [, , zoom] = chart.getOption().dataZoom;
    return [data.lane.length, zoom.endValue - zoom.startValue + 1];
  }, id);
  assert.ok(bars <= 200000 && bars > 190000, `${bars}`);
  assert.ok(shown <= 40);
  const kept = document.recording.timeline.lane[bars - 1] + 1;
  assert.equal(document.recording.timeline.lane[bars], kept, 'a lane is whole or not there');
  assert.match(await page.locator(`#${id} .summary`).textContent(),
    new RegExp(`${300 - kept} more lanes are in timeline.jsonl.gz`));
  await shiftWheel(page);
  await page.locator(`#${id} .plot`).focus();
  await page.keyboard.press('ArrowDown');
  const top = await page.evaluate((figure) =>
    document.getElementById(figure).view.chart.getOption().dataZoom[2].startValue, id);
  assert.equal(top, 5);
}

// The critical path is the first lane, whatever ranks and streams are chosen; its bars say their
// rank and gain, and are not among the data of the others.
async function pathOnTop({build, folder, open}) {
  const document = fixtures.run({recording: fixtures.recording({path: true})});
  const page = await open(fixtures.writePage(build, folder, 'path', document));
  await drawAll(page);
  const shown = () => page.evaluate((figure) =>
    document.getElementById(figure).view.chart.getOption().yAxis[0].data, id);
  assert.equal((await shown()).length, 25);
  assert.equal((await shown())[0], 'critical path');
  const texts = await hover(page, 3.2, 0);
  assert.equal(texts[0], 'forward');
  assert.deepEqual(pairs(texts), {number: '6', start: '3 s', duration: '500 ms', rank: '6',
    role: 'compute', 'gain if it took no time': '250 ms'});
  assert.equal(pairs(await hover(page, 3.7, 0))['gain if it took no time'], undefined);
  assert.equal(pairs(await hover(page, 3.7, 6)).rank, '1');
  await page.locator(`#${id} select[name=stream]`).selectOption('compute');
  await page.locator(`#${id} select[name=rank]`).selectOption('3');
  assert.deepEqual(await shown(), ['critical path', 'rank 3 compute']);
  assert.ok(!(await page.locator(`#${id} select[name=rank]`).textContent()).includes('undefined'));
  await csvEqualsData(page, document);
  await page.context().close();
}

await withBrowser(async (context) => {
  const document = fixtures.run();
  const page = await context.open(
    fixtures.writePage(context.build, context.folder, 'run', document));
  await drawAll(page);
  await tooltips(page);
  await zooming(page);
  await plainWheel(page);
  await keyboard(page, document);
  await lanes(page);
  await csvEqualsData(page, document);
  await page.context().close();
  const pairs = await context.open(
    fixtures.writePage(context.build, context.folder, 'pairs', twoRanksToAStage()));
  await drawAll(pairs);
  await firstOfStages(pairs);
  await pathOnTop(context);
  await busyLanes(context);
  await tooMany(context);
});
