// What ran when: a lane for each GPU and stream, a bar for each operation.
//
// A bar is not an element of its own: each color is one shape whose path runs over the bars that
// are in sight, so that hundreds of thousands cost little.
(() => {
  const kStages = 'stages';  // of the choice of ranks
  const {format, colors, element, tip, variable, isPrinting} = trainyard;
  const laneHeight = 18;
  const mostLanes = 40;
  const mostNumbers = 100;  // in a lane
  const sources = [];  // by number: the fields of a shape are copied, so they hold numbers only

  const laneOf = (y, y0, step) => Math.round((y - y0) / step);

  // The first bar of [from, to) of which `key` is above the limit.
  function above(key, from, to, limit) {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (key(middle) > limit) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  }

  // The critical path as a lane before all others, whose bars know their rank and gain.
  function addPath(data) {
    const path = data.path ?? [];
    if (path.length === 0) return;
    delete data.path;  // once: the data may be looked at again
    data.gain = path.map((segment) => segment[6]);
    data.pathRank = path.map((segment) => segment[0]);
    data.lanes.unshift({label: 'critical path', path: true});
    const numberIn = (list, text) =>
      list.includes(text) ? list.indexOf(text) : list.push(text) - 1;
    data.lane = [...path.map(() => 0), ...data.lane.map((lane) => lane + 1)];
    data.name = [...path.map((segment) => numberIn(data.names, segment[1])), ...data.name];
    data.role = [...path.map((segment) => numberIn(data.roles, segment[2])), ...data.role];
    data.number = [...path.map((segment) => segment[3]), ...data.number];
    data.start_s = [...path.map((segment) => segment[4]), ...data.start_s];
    data.duration_s = [...path.map((segment) => segment[5]), ...data.duration_s];
    data.bytes = [...path.map(() => null), ...data.bytes];
  }

  // Bars as typed arrays; for each role the numbers of its bars, lane by lane.
  function prepare(data) {
    const start = Float64Array.from(data.start_s);
    const end = start.map((value, i) => value + data.duration_s[i]);
    const count = data.lanes.length;
    const first = new Uint32Array(count + 1);
    const roles = data.roles.map(() => ({index: [], first: new Uint32Array(count + 1)}));
    for (let i = 0; i < start.length; ++i) {
      const role = roles[data.role[i]];
      role.index.push(i);
      ++role.first[data.lane[i] + 1];
      ++first[data.lane[i] + 1];
    }
    for (const offsets of [first, ...roles.map((role) => role.first)]) {
      for (let lane = 0; lane < count; ++lane) offsets[lane + 1] += offsets[lane];
    }
    return {start, end, first, roles, lanes: data.lanes.map((_, i) => i)};
  }

  // Bars of a lane as rectangles. What is narrower than a pixel takes one, together with its
  // neighbors: a busy lane never looks empty.
  function laneBars(path, shape, source, lane, y) {
    const {index, first} = source.roles[shape.role];
    const to = first[lane + 1];
    let i = above((at) => source.end[index[at]], first[lane], to, shape.t0);
    let from = 0;
    let until = -Infinity;
    for (; i < to && source.start[index[i]] < shape.t1; ++i) {
      const x0 = shape.x0 + shape.scale * source.start[index[i]];
      const x1 = shape.x0 + shape.scale * source.end[index[i]];
      if (x1 - x0 < 2 && x0 <= until + 0.5) {
        until = Math.max(until, x1, from + 1);
        continue;
      }
      if (until > from) path.rect(from, y, until - from, shape.height);
      from = x0;
      until = Math.max(x1 - (x1 - x0 > 4 ? 0.8 : 0), x0 + 1);
    }
    if (until > from) path.rect(from, y, until - from, shape.height);
  }

  function registerShape() {
    if (echarts.graphic.getShapeClass('trainyard-bars')) return;
    echarts.graphic.registerShape('trainyard-bars', echarts.graphic.extendShape({
      shape: {source: 0, role: 0, x0: 0, scale: 1, t0: 0, t1: 0, y0: 0, step: 1, height: 1,
        top: 0, bottom: 0},
      buildPath(path, shape) {
        const source = sources[shape.source];
        const from = Math.max(laneOf(shape.top, shape.y0, shape.step), 0);
        const to = Math.min(laneOf(shape.bottom, shape.y0, shape.step), source.lanes.length - 1);
        for (let row = from; row <= to; ++row) {
          const y = shape.y0 + row * shape.step - shape.height / 2;
          laneBars(path, shape, source, source.lanes[row], y);
        }
      },
    }));
  }

  // What is in sight: where time 0 of the first lane is, pixels for each second and lane.
  function sight(view, params, api) {
    const {x, y, width, height} = params.coordSys;
    const [x0, y0] = api.coord([0, 0]);
    const scale = (api.coord([view.data.end_s, 0])[0] - x0) / view.data.end_s;
    const step = api.coord([0, 1])[1] - y0;
    return {x0, scale, t0: (x - x0) / scale, t1: (x + width - x0) / scale, y0, step,
      height: Math.abs(step) * 0.78, top: y, bottom: y + height};
  }

  // An item for each role, and one for all numbers.
  function renderItem(view) {
    return (params, api) => {
      const seen = sight(view, params, api);
      const role = view.data.roles[params.dataIndex];
      if (role === undefined) return {type: 'group', silent: true, children: numbers(view, seen)};
      return {
        type: 'trainyard-bars', silent: true,
        shape: {source: view.source, role: params.dataIndex, ...seen},
        style: {fill: view.hidden.has(role) ? 'transparent' : colors[role] ?? colors.other},
      };
    };
  }

  // The numbers of bars that are wide enough for them.
  function numbers(view, seen) {
    const source = sources[view.source];
    const texts = [];
    const from = Math.max(laneOf(seen.top, seen.y0, seen.step), 0);
    const to = Math.min(laneOf(seen.bottom, seen.y0, seen.step), source.lanes.length - 1);
    for (let row = from; row <= to; ++row) {
      const until = source.first[source.lanes[row] + 1];
      let i = above((at) => source.end[at], source.first[source.lanes[row]], until, seen.t0);
      const end = above((at) => source.start[at], i, until, seen.t1);
      if (end - i > mostNumbers) continue;
      for (; i < end; ++i) {
        const x = seen.x0 + seen.scale * (source.start[i] + source.end[i]) / 2;
        const wide = seen.scale * (source.end[i] - source.start[i]) >=
          7 * String(view.data.number[i]).length + 4;
        if (!wide || view.data.number[i] === null || isHidden(view, i)) continue;
        texts.push({type: 'text', silent: true, style: {text: String(view.data.number[i]), x,
          y: seen.y0 + row * seen.step, fill: '#fff', stroke: '#0008', lineWidth: 2, fontSize: 10,
          align: 'center', verticalAlign: 'middle'}});
      }
    }
    return texts;
  }

  const isHidden = (view, i) => view.hidden.has(view.data.roles[view.data.role[i]]);

  const rowsOf = (view) => sources[view.source].lanes.length;

  function option(view) {
    const {data} = view;
    const lanes = sources[view.source].lanes;
    const many = lanes.length > mostLanes;
    const {t0, t1} = view.window;
    const slider = {borderColor: variable('--line'), textStyle: {color: variable('--ink')},
      fillerColor: '#8884', show: !isPrinting(), showDataShadow: false, brushSelect: false, filterMode: 'none'};
    return {
      grid: {left: 12, right: many ? 40 : 16, top: 8, bottom: isPrinting() ? 44 : 76,
        containLabel: true},
      xAxis: view.axis({type: 'value', min: 0, max: data.end_s, name: 'time (s)', nameGap: 26,
        axisLabel: {formatter: (x) => format.tick({form: 'seconds'}, Number(x.toPrecision(6)))}}),
      yAxis: view.axis({type: 'category', inverse: true, splitLine: {show: false},
        axisTick: {show: false}, data: lanes.map((lane) => data.lanes[lane].label),
        axisLabel: {interval: 0, hideOverlap: false, fontSize: 11, width: 200,
          overflow: 'truncate'}}),
      dataZoom: [
        {type: 'inside', xAxisIndex: 0, filterMode: 'none', startValue: t0, endValue: t1,
          zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false},
        {type: 'slider', xAxisIndex: 0, startValue: t0, endValue: t1, height: 22, bottom: 10,
          labelFormatter: (x) => format.tick({form: 'seconds'}, x), ...slider},
        ...(many ? [{type: 'slider', yAxisIndex: 0, startValue: view.top,
          endValue: view.top + mostLanes - 1, width: 18, right: 6, showDetail: false,
          zoomLock: true, ...slider}] : []),
      ],
      series: [{type: 'custom', clip: true, silent: true, renderItem: renderItem(view),
        data: [...data.roles, 'numbers'].map(() => [0, 0]), encode: {x: 0, y: 1}}],
    };
  }

  // What the sliders and the wheel did, so that a redrawing keeps it.
  function remember(view) {
    const zooms = view.chart.getOption().dataZoom;
    view.window = {t0: zooms[0].startValue, t1: zooms[0].endValue};
    if (zooms[2]) view.top = zooms[2].startValue;
    hideBar(view);
  }

  function show(view, t0, t1) {
    const end = view.data.end_s;
    const length = Math.min(Math.max(t1 - t0, end * 1e-7), end);
    const from = Math.min(Math.max(t0, 0), end - length);
    for (const dataZoomIndex of [0, 1])
      view.chart.dispatchAction({type: 'dataZoom', dataZoomIndex, startValue: from,
        endValue: from + length});
    view.window = {t0: from, t1: from + length};
  }

  function zoom(view, factor) {
    const {t0, t1} = view.window;
    const middle = (t0 + t1) / 2;
    show(view, middle - (t1 - t0) * factor / 2, middle + (t1 - t0) * factor / 2);
  }

  function pan(view, share) {
    const {t0, t1} = view.window;
    show(view, t0 + (t1 - t0) * share, t1 + (t1 - t0) * share);
  }

  function scroll(view, lanes) {
    if (rowsOf(view) <= mostLanes) return;
    view.top = Math.min(Math.max(view.top + lanes, 0), rowsOf(view) - mostLanes);
    view.chart.dispatchAction({type: 'dataZoom', dataZoomIndex: 2, startValue: view.top,
      endValue: view.top + mostLanes - 1});
  }

  // The bar at that time, or one within `reach` of it.
  function barAt(view, lane, time, reach) {
    const source = sources[view.source];
    const to = source.first[lane + 1];
    const next = above((i) => source.start[i], source.first[lane], to, time);
    if (next > source.first[lane] && source.end[next - 1] >= time - reach)
      return isHidden(view, next - 1) ? -1 : next - 1;
    return next < to && source.start[next] <= time + reach && !isHidden(view, next) ? next : -1;
  }

  // Of a bar of the critical path.
  function gainOf(data, i) {
    const gain = data.lanes[data.lane[i]].path ? data.gain[i] : null;
    return gain === null ? null : format.quantity(gain, 's');
  }

  function linesOf(view, i) {
    const {data} = view;
    const lane = data.lanes[data.lane[i]];
    const lines = [
      ['number', data.number[i]], ['start', format.quantity(data.start_s[i], 's')],
      ['duration', format.quantity(data.duration_s[i], 's')],
      ['bytes', data.bytes[i] === null ? null : format.quantity(data.bytes[i], 'B')],
      ['rank', lane.path ? data.pathRank[i] : lane.rank], ['stream', lane.stream],
      ['stage', lane.stage],
      ['role', data.roles[data.role[i]]],
      ['gain if it took no time', gainOf(data, i)],
      ['stands for', lane.stands_for > 1 ? `${lane.stands_for} ranks` : null],
    ];
    return lines.filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [name, String(value)]);
  }

  function hideBar(view) {
    view.tipBox.hidden = view.frame.hidden = true;
  }

  // A frame around the bar, which may be narrower than it.
  function frameBar(view, i) {
    const source = sources[view.source];
    const row = source.lanes.indexOf(view.data.lane[i]);
    const [x0, y] = view.chart.convertToPixel('grid', [source.start[i], row]);
    const [x1, below] = view.chart.convertToPixel('grid', [source.end[i], row + 1]);
    const [from] = view.chart.convertToPixel('grid', [view.window.t0, row]);
    const [to] = view.chart.convertToPixel('grid', [view.window.t1, row]);
    const height = Math.abs(below - y) * 0.78;
    Object.assign(view.frame.style, {left: `${Math.max(x0, from) - 2}px`,
      top: `${y - height / 2 - 2}px`, height: `${height + 4}px`,
      width: `${Math.max(Math.min(x1, to) - Math.max(x0, from), 1) + 4}px`});
    view.frame.hidden = false;
  }

  function showBar(view, i, x, y) {
    view.current = i;
    frameBar(view, i);
    const name = view.data.names[view.data.name[i]];
    view.tipBox.replaceChildren(tip(name, linesOf(view, i)));
    view.tipBox.hidden = false;
    const {offsetWidth, offsetHeight} = view.tipBox;
    view.tipBox.style.left =
      `${Math.max(Math.min(x + 14, view.plot.clientWidth - offsetWidth), 0)}px`;
    view.tipBox.style.top = `${y + 16 + offsetHeight > view.plot.clientHeight
      ? Math.max(y - offsetHeight - 10, 0) : y + 16}px`;
  }

  function hover(view, x, y) {
    hideBar(view);
    if (!view.chart.containPixel('grid', [x, y])) return;
    const [time, row] = view.chart.convertFromPixel('grid', [x, y]);
    const lane = sources[view.source].lanes[row];
    if (lane === undefined) return;
    const reach = (view.window.t1 - view.window.t0) / view.plot.clientWidth * 1.5;
    const bar = barAt(view, lane, time, reach);
    if (bar >= 0) showBar(view, bar, x, y);
  }

  // The next or previous operation of the lane, for those without a pointer.
  function step(view, by) {
    const source = sources[view.source];
    let i = view.current;
    i = i === undefined || !source.lanes.includes(view.data.lane[i])
      ? source.first[source.lanes[0]] : i + by;
    if (i < 0 || i >= source.start.length) return;
    const {t0, t1} = view.window;
    if (source.start[i] < t0 || source.start[i] > t1)
      show(view, source.start[i] - (t1 - t0) / 2, source.start[i] + (t1 - t0) / 2);
    const row = source.lanes.indexOf(view.data.lane[i]);
    if (row < 0) return;
    if (row < view.top || row >= view.top + mostLanes) scroll(view, row - view.top);
    const [x, y] = view.chart.convertToPixel('grid', [source.start[i], row]);
    showBar(view, i, x, y);
    view.live.textContent =
      [view.data.names[view.data.name[i]], ...linesOf(view, i).map((line) => line.join(' '))]
        .join(', ');
  }

  // The wheel alone is the page's; the chart would take it whatever it does with it.
  function wheel(view, event) {
    hideBar(view);
    if (event.ctrlKey) return;
    event.stopPropagation();
    // With Shift some browsers turn the wheel sideways.
    const by = event.deltaY || event.deltaX;
    if (!event.shiftKey || by === 0 || rowsOf(view) <= mostLanes) return;
    event.preventDefault();
    scroll(view, 3 * Math.sign(by));
  }

  const keys = {
    'ArrowLeft': (view) => pan(view, -0.2), 'ArrowRight': (view) => pan(view, 0.2),
    'ArrowUp': (view) => scroll(view, -5), 'ArrowDown': (view) => scroll(view, 5),
    '+': (view) => zoom(view, 0.5), '=': (view) => zoom(view, 0.5),
    '-': (view) => zoom(view, 2), 'Home': (view) => show(view, 0, view.data.end_s),
    'n': (view) => step(view, 1), 'p': (view) => step(view, -1),
    'Escape': (view) => hideBar(view),
  };

  function listen(view) {
    view.plot.tabIndex = 0;
    view.plot.setAttribute('role', 'application');
    view.plot.addEventListener('keydown', (event) => {
      const act = event.ctrlKey || event.altKey || event.metaKey ? undefined : keys[event.key];
      if (!act) return;
      event.preventDefault();
      act(view);
    });
    view.tipBox = element('div', 'tip');
    view.tipBox.hidden = true;
    view.frame = element('div', 'frame');
    view.frame.hidden = true;
    view.live = element('p', 'unseen');
    view.live.setAttribute('aria-live', 'polite');
    view.plot.append(view.frame, view.tipBox);
    view.plot.addEventListener('wheel', (event) => wheel(view, event),
      {capture: true, passive: false});
    view.plot.after(view.live);
    view.chart.getZr().on('mousemove', (event) => hover(view, event.offsetX, event.offsetY));
    view.chart.getZr().on('globalout', () => hideBar(view));
    view.chart.on('datazoom', () => remember(view));
  }

  const gpuLanes = (view) => view.data.lanes.filter((lane) => !lane.path);

  // By stage: the first rank of it. Ranks of one tensor group do the same at the same time, and would
  // fill the first screen.
  function firstOfStages(lanes) {
    const firsts = new Map();
    for (const {stage, rank} of lanes) {
      if (!(firsts.get(stage) <= rank)) firsts.set(stage, rank);
    }
    return firsts;
  }

  function chooseLanes(view) {
    const {lanes} = view.data;
    const firsts = firstOfStages(gpuLanes(view));
    const fits = (lane) => lane.path || (view.state.stream === '' || lane.stream === view.state.stream) &&
      (view.state.rank === '' || String(lane.rank) === view.state.rank ||
        (view.state.rank === kStages && firsts.get(lane.stage) === lane.rank));
    const chosen = lanes.map((_, i) => i).filter((i) => fits(lanes[i]));
    sources[view.source].lanes = chosen;
    view.top = 0;
  }

  function choices(view, label, key, first) {
    const values = [...new Set(gpuLanes(view).map((lane) => lane[key]))];
    if (values.length < 2) {
      view.state[key] = '';
      return;
    }
    view.select(label, key, [...first, ['', 'all'], ...values.map((value) => [value, value])],
      () => chooseLanes(view));
  }

  function rankChoices(view) {
    const stages = firstOfStages(gpuLanes(view)).size;
    const ranks = new Set(gpuLanes(view).map((lane) => lane.rank)).size;
    choices(view, 'Rank', 'rank',
      stages > 1 && ranks > stages ? [[kStages, 'first of each stage']] : []);
  }

  trainyard.add('timeline', {
    canvas: true,
    height: (view) => 130 + laneHeight * Math.min(Math.max(rowsOf(view), 4), mostLanes),
    option,
    setup(view) {
      registerShape();
      addPath(view.data);
      view.source = sources.push(prepare(view.data)) - 1;
      view.window = {t0: 0, t1: view.data.end_s};
      view.top = 0;
      rankChoices(view);
      choices(view, 'Stream', 'stream', []);
      chooseLanes(view);
      view.button('+', () => zoom(view, 0.5), 'Zoom in');
      view.button('−', () => zoom(view, 2), 'Zoom out');
      view.button('←', () => pan(view, -0.2), 'Earlier');
      view.button('→', () => pan(view, 0.2), 'Later');
      view.button('Whole run', () => show(view, 0, view.data.end_s));
      view.controls.append(element('span', 'hint',
        'Ctrl + wheel zooms, Shift + wheel goes through the lanes, drag pans; keys: arrows, + −, ' +
        'Home, n and p for operations'));
      const used = new Set(view.data.role);
      view.legend(view.data.roles.filter((_, role) => used.has(role)).map((role) =>
        ({key: role, title: role, color: colors[role] ?? colors.other})));
    },
    ready: listen,
    csv(view) {
      const {columns, lanes, names, roles, lane, name, role, number, start_s, duration_s, bytes} =
        view.data;
      return {columns, rows: lane.map((one, i) => [lanes[one].label, names[name[i]],
        roles[role[i]], number[i], start_s[i], duration_s[i], bytes[i]])
        .filter((_, i) => !lanes[lane[i]].path)};
    },
  });
})();
