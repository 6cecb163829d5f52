// What all charts of the page share: figures and their controls, colors, theme, print, CSV.
//
// A chart file calls trainyard.add(name, kind). A kind has
//   option(view)   what to draw, an option object of ECharts
//   setup(view)    optional: makes controls, once
//   height(view)   optional: of the plot, in pixels
//   ready(view)    optional: after the first drawing
//   csv(view)      optional: columns and rows of the download; those of the data where missing
//   canvas         optional: drawn as pixels, for many marks
//   table          optional: true where there is no plot, only setup()
const trainyard = (() => {
  const kinds = {};
  const views = [];
  const printWidth = 680;
  let printing = false;
  let chosenTheme = 'system';

  // The palette of Okabe and Ito, which color-blind readers can tell apart.
  const colors = {
    compute: '#0072b2', network: '#d55e00', nvlink: '#009e73', storage: '#e69f00',
    host: '#cc79a7', bubble: '#9aa1ac', restart: '#5b4a8a', other: '#56b4e9',
  };
  // Runs, jobs and values of an axis: told apart by shape as well.
  const series = ['#5b6ee1', '#c44e52', '#2a9d8f', '#b8860b', '#8e5ea2', '#4f7f1f', '#d1779a',
    '#6b7280'];
  const symbols = ['circle', 'diamond', 'triangle', 'rect', 'roundRect', 'pin', 'arrow'];
  // "Magma", from little to much.
  const heats = {
    light: ['#efe9f4', '#feb078', '#f1605d', '#b73779', '#721f81', '#221150'],
    dark: ['#2f3440', '#721f81', '#b73779', '#f1605d', '#feb078', '#fcfdbf'],
  };

  function add(name, kind) {
    kinds[name] = kind;
  }

  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }

  function variable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function mix(from, to, share) {
    const part = (color, at) => parseInt(color.slice(at, at + 2), 16);
    const mixed = [1, 3, 5].map((at) =>
      Math.round(part(from, at) + (part(to, at) - part(from, at)) * share));
    return `rgb(${mixed.join(',')})`;
  }

  // The color of a share from 0 to 1.
  function heat(share) {
    const stops = heats[isDark() ? 'dark' : 'light'];
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return mix(stops[low], stops[low + 1], at - low);
  }

  // A run has one color in all charts, also in those that not every run is in.
  function colorOfRun(view, run) {
    return series[view.data.runs.indexOf(run) % series.length];
  }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // A cell of RFC 4180; what a spreadsheet would take for a formula gets an apostrophe before it.
  function cell(value) {
    if (value === null || value === undefined) return '';
    let text = String(value);
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv(columns, rows) {
    const head = columns.map((column) => column.title + unitOf(column));
    return [head, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('');
  }

  // The head says the unit: of times, bytes and rates that of SI, of others the column's.
  function unitOf(column) {
    const units = {seconds: 's', bytes: 'B', size: 'B', rate: 'B/s'};
    const unit = units[column.form] || (column.unit !== '1' ? column.unit : undefined);
    return unit ? ` (${unit})` : '';
  }

  function download(name, text) {
    const link = element('a');
    link.href = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  function dataOf(figure) {
    const source = figure.dataset.of ? document.getElementById(figure.dataset.of) : figure;
    source.parsed ??= JSON.parse(source.querySelector('script[type="application/json"]').text);
    return source.parsed;
  }

  // The content of a tooltip: a title and lines of name and value, all of them plain text.
  function tip(title, lines) {
    const box = element('div', 'tip-text');
    box.append(element('b', '', title));
    for (const [name, value, color, stroke] of lines) {
      const line = element('div');
      if (color) line.append(swatch(color, stroke));
      line.append(element('span', '', name), element('span', 'value', value));
      box.append(line);
    }
    return box;
  }

  // A square, or a piece of a line of that stroke: solid, dashed or dotted.
  function swatch(color, stroke) {
    const mark = element('i', stroke ? `swatch stroke ${stroke}` : 'swatch');
    mark.style.setProperty('--color', color);
    return mark;
  }

  class View {
    constructor(figure) {
      this.figure = figure;
      this.kind = kinds[figure.dataset.chart];
      this.state = {};
      this.hidden = new Set();
      this.controls = element('div', 'controls');
      this.plot = element('div', 'plot');
      this.legendBox = element('div', 'legend');
      const summary = figure.querySelector('.summary');
      this.title = figure.querySelector('figcaption').textContent;
      if (!this.kind.table) {
        this.plot.setAttribute('role', 'img');
        this.plot.setAttribute('aria-label', `${this.title}. ${summary.textContent}`);
        summary.after(this.controls, this.legendBox, this.plot);
      } else {
        summary.after(this.controls);
      }
    }

    // A labelled box to tick; changes call `changed(ticked)`.
    tick(label, ticked, changed) {
      const box = element('label', '', label);
      const input = element('input');
      input.type = 'checkbox';
      input.checked = ticked;
      input.addEventListener('change', () => changed(input.checked));
      box.prepend(input);
      this.controls.append(box);
    }

    get data() {
      return dataOf(this.figure);
    }

    // A labelled choice; `options` are pairs of value and text. Changes redraw.
    select(label, key, options, changed) {
      const box = element('label', '', label);
      const select = element('select');
      select.name = key;
      for (const [value, text] of options) select.append(new Option(text, value));
      if (this.state[key] === undefined) this.state[key] = String(options[0][0]);
      select.value = this.state[key];
      select.addEventListener('change', () => {
        this.state[key] = select.value;
        if (changed) changed();
        this.draw();
      });
      box.append(select);
      this.controls.append(box);
      return select;
    }

    button(text, action, label) {
      const button = element('button', '', text);
      button.type = 'button';
      if (label) button.setAttribute('aria-label', label);
      button.addEventListener('click', action);
      this.controls.append(button);
      return button;
    }

    // Buttons that show and hide the series of these keys: {key, title, color, stroke}.
    legend(items) {
      this.legendBox.replaceChildren(...items.map((item) => {
        const button = element('button');
        button.type = 'button';
        button.append(swatch(item.color, item.stroke), element('span', '', item.title));
        button.setAttribute('aria-pressed', String(!this.hidden.has(item.key)));
        button.addEventListener('click', () => {
          if (!this.hidden.delete(item.key)) this.hidden.add(item.key);
          button.setAttribute('aria-pressed', String(!this.hidden.has(item.key)));
          this.draw();
        });
        return button;
      }));
    }

    // A bar of colors from `low` to `high`, both text.
    scale(title, low, high) {
      const bar = element('span', 'heat');
      bar.style.background = `linear-gradient(to right, ${
        [0, 0.2, 0.4, 0.6, 0.8, 1].map(heat).join(',')})`;
      this.legendBox.replaceChildren(element('span', '', title), element('span', '', low), bar,
        element('span', '', high));
    }

    begin() {
      if (this.begun) return;
      this.begun = true;
      if (this.kind.setup) this.kind.setup(this);
      this.button('CSV', () => {
        const table = this.kind.csv ? this.kind.csv(this) : this.data;
        download(`${this.figure.id}.csv`, csv(table.columns, table.rows));
      }, `Download the data of "${this.title}" as CSV`);
      if (this.kind.table) return;
      this.draw();
      if (this.kind.ready) this.kind.ready(this);
    }

    draw() {
      if (!this.begun || this.kind.table) return;
      this.plot.style.height = `${this.kind.height ? this.kind.height(this) : 360}px`;
      const option = this.kind.option(this);
      const size = {width: printing ? printWidth : this.plot.clientWidth || printWidth};
      if (!this.chart) {
        this.chart = echarts.init(this.plot, null,
          {renderer: this.kind.canvas ? 'canvas' : 'svg', devicePixelRatio: 2, ...size});
      } else {
        this.chart.resize(size);
      }
      this.chart.setOption({...this.common(), ...option}, {notMerge: true});
    }

    common() {
      return {
        animation: false,
        backgroundColor: 'transparent',
        textStyle: {fontFamily: 'system-ui, sans-serif', fontSize: 12, color: variable('--ink')},
        aria: {enabled: false},
      };
    }

    // A tooltip whose content `make` builds from what is under the pointer.
    tooltip(make, trigger = 'item') {
      return {
        trigger, confine: true, formatter: make, transitionDuration: 0,
        backgroundColor: variable('--soft'), borderColor: variable('--line'),
        textStyle: {color: variable('--ink'), fontSize: 13},
        axisPointer: {type: trigger === 'axis' ? 'line' : 'none'},
      };
    }

    // A logarithmic axis for these numbers, all above 0. Decades alone would be one mark or none
    // on an axis of two of them or fewer.
    logAxis(numbers, more) {
      const ticks = trainyard.format.logTicks(numbers);
      if (!ticks) return this.axis({type: 'log', ...more});
      return this.axis({type: 'log', min: ticks[0], max: ticks.at(-1), ...more,
        axisTick: {customValues: ticks, lineStyle: {color: variable('--line')}},
        axisLabel: {...more.axisLabel, customValues: ticks}});
    }

    // An axis in the colors of the page. `name` carries the unit.
    axis(more) {
      const line = {lineStyle: {color: variable('--line')}};
      return {
        nameLocation: 'middle', nameTextStyle: {color: variable('--dim')}, axisLine: line,
        axisTick: line, splitLine: {lineStyle: {color: variable('--line'), opacity: 0.6}},
        ...more,
        axisLabel: {color: variable('--ink'), hideOverlap: true,
          ...(more.type === 'category' ? {} : {alignMaxLabel: 'right'}), ...more.axisLabel},
      };
    }
  }

  function redraw() {
    for (const view of views) view.draw();
  }

  function showTheme(theme) {
    if (theme === 'system') {
      delete document.documentElement.dataset.theme;
    } else {
      document.documentElement.dataset.theme = theme;
    }
    redraw();
  }

  function themeSwitch() {
    const box = element('label', 'theme', 'Theme');
    const select = element('select');
    select.name = 'theme';
    for (const theme of ['system', 'light', 'dark']) select.append(new Option(theme, theme));
    select.addEventListener('change', () => showTheme(chosenTheme = select.value));
    box.append(select);
    document.querySelector('main').before(box);
  }

  // Paper is white and as wide as it is: all charts are drawn for it, seen before or not.
  function setPrinting(on) {
    if (printing === on) return;
    printing = on;
    for (const view of views) view.begin();
    showTheme(on ? 'light' : chosenTheme);
    for (const view of views) view.chart?.getZr().flush();
  }

  function follow() {
    let waiting = false;
    new ResizeObserver(() => {
      if (waiting || printing) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (!printing) redraw();
      });
    }).observe(document.querySelector('main'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
    matchMedia('print').addEventListener('change', (change) => setPrinting(change.matches));
    addEventListener('beforeprint', () => setPrinting(true));
    addEventListener('afterprint', () => setPrinting(false));
  }

  // Figures are drawn when they come near the window; a table's headings are buttons at once.
  function start() {
    themeSwitch();
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((one) => one.isIntersecting)) {
        observer.unobserve(entry.target);
        entry.target.view.begin();
      }
    }, {rootMargin: '600px'});
    for (const figure of document.querySelectorAll('figure[data-chart]')) {
      figure.view = new View(figure);
      views.push(figure.view);
      if (figure.view.kind.table) {
        figure.view.begin();
      } else {
        observer.observe(figure);
      }
    }
    follow();
  }

  return {add, start, views, colors, colorOfRun, series, symbols, heat, element, tip, isDark,
    variable, isPrinting: () => printing};
})();
