// Variants of a sweep as points: two metrics or axes against each other, a third as color.
(() => {
  const {format, series, symbols, heat, tip, variable, sweep} = trainyard;
  const shown = 8;  // values of an axis that have colors of their own

  // Points that no other beats in both directions, from left to right; of equal points all.
  function front(points, signX, signY) {
    const sorted = points.filter((point) => point.x !== null && point.y !== null)
      .sort((a, b) => signX * (a.x - b.x) || signY * (a.y - b.y));
    let last;
    return sorted.filter((point) => {
      if (last && signY * (point.y - last.y) >= 0 && (point.x !== last.x || point.y !== last.y))
        return false;
      last = point;
      return true;
    });
  }

  const numeric = (value) => value !== null && value !== '' && Number.isFinite(Number(value));

  // A column as numbers: those of a metric; of an axis its numbers, or the places of its words.
  function scaleOf(data, column) {
    if (sweep.isMetric(data, column)) return {number: (row) => row[column] ?? null};
    const values = sweep.values(data, column);
    if (values.every(numeric)) return {number: (row) => Number(row[column])};
    const words = values.map(sweep.word);
    return {words, number: (row) => words.indexOf(sweep.word(row[column]))};
  }

  function axisFor(view, column, nameGap, logOf) {
    const about = view.data.columns[column];
    const {words} = scaleOf(view.data, column);
    if (words) return view.axis({type: 'category', data: words, name: about.title, nameGap,
      axisLabel: {width: 140, overflow: 'truncate'}});
    const unit = {seconds: ' (s)', bytes: ' (B)', rate: ' (B/s)'}[about.form];
    const more = {nameGap, name: unit ? about.title + unit : format.name(about),
      axisLabel: {formatter: (x) => format.tick(
        sweep.isMetric(view.data, column) ? about : {form: 'number'}, x)}};
    return logOf ? view.logAxis(logOf, more) : view.axis({type: 'value', scale: true, ...more});
  }

  function coloring(view, points) {
    const {data} = view;
    const column = Number(view.state.color);
    if (column < 0) return () => ({color: series[0]});
    if (!sweep.isMetric(data, column)) {
      const values = sweep.values(data, column);
      if (values.length <= shown)
        return ({row}) => ({color: series[values.indexOf(row[column])]});
      return ({row}) => ({color: heat(values.indexOf(row[column]) / (values.length - 1))});
    }
    const all = points.map(({row}) => row[column]).filter((value) => value !== null);
    const [low, high] = all.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)],
      [Infinity, -Infinity]);
    return ({row}) => ({color: row[column] === null ? variable('--line')
      : heat(0.12 + 0.88 * (row[column] - low) / (high - low || 1))});
  }

  function explain(view, points) {
    const {data} = view;
    const column = Number(view.state.color);
    view.legendBox.replaceChildren();
    if (column < 0) return;
    const values = sweep.isMetric(data, column) ? [] : sweep.values(data, column);
    if (values.length > 0 && values.length <= shown) {
      view.legend(values.map((value, i) => ({key: value, title: sweep.clip(sweep.word(value)),
        color: series[i]})));
      return;
    }
    const about = data.columns[column];
    const all = points.map(({row}) => row[column]).filter((value) => value !== null);
    const [low, high] = values.length > 0 ? [values[0], values.at(-1)]
      : all.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    view.scale(about.title, format.show(about, low), format.show(about, high));
  }

  function option(view) {
    const {data} = view;
    const [x, y, color] = ['x', 'y', 'color'].map((key) => Number(view.state[key]));
    const [scaleX, scaleY] = [scaleOf(data, x), scaleOf(data, y)];
    const points = sweep.ok(data).filter((row) => color < 0 || !view.hidden.has(row[color]))
      .map((row) => ({row, x: scaleX.number(row), y: scaleY.number(row)}))
      .filter((point) => point.x !== null && point.y !== null);
    // Words have no better and worse.
    const worded = [[x, scaleX], [y, scaleY]].filter(([, scale]) => scale.words);
    const best = worded.length > 0 ? [] : front(points, view.state.betterX === 'low' ? 1 : -1,
      view.state.betterY === 'low' ? 1 : -1);
    const logs = ['x', 'y'].map((side) => points.map((point) => point[side])).map((numbers) =>
      view.state.log === 'log' && numbers.every((number) => number > 0) && numbers);
    const onFront = new Set(best.map((point) => point.row));
    const colorOf = coloring(view, points);
    explain(view, points);
    view.front = best.map((point) => point.row[0]);
    view.note.textContent = worded.length > 0
      ? `No front: ${data.columns[worded[0][0]].title} is words, of which none is better.`
      : `${best.length} of ${points.length} variants are on the front.`;
    const datum = (point) => ({value: [point.x, point.y], row: point.row});
    return {
      grid: {left: 84, right: 30, top: 14, bottom: 52},
      tooltip: view.tooltip((at) => sweep.describe(data, at.data.row)),
      xAxis: axisFor(view, x, 30, logs[0]), yAxis: axisFor(view, y, 62, logs[1]),
      series: [
        {type: 'scatter', symbolSize: points.length > 2000 ? 5 : 8,
          data: points.filter((point) => !onFront.has(point.row)).map((point) =>
            ({...datum(point), itemStyle: {opacity: 0.75, ...colorOf(point)}}))},
        {type: 'line', symbol: symbols[0], symbolSize: 12, showAllSymbol: true,
          lineStyle: {color: variable('--ink'), width: 1.5, type: 'dashed'}, data:
          best.map((point) => ({...datum(point), itemStyle: {...colorOf(point),
            borderColor: variable('--ink'), borderWidth: 2}}))},
      ],
    };
  }

  function choose(view, label, key, better, choices) {
    const preset = () => {
      view.state[better] =
        sweep.higherIsBetter(view.data, Number(view.state[key])) ? 'high' : 'low';
      if (view[better]) view[better].value = view.state[better];
    };
    view.select(label, key, choices, preset);
    preset();
    view[better] = view.select(`better ${label}`, better,
      [['low', 'lower'], ['high', 'higher']]);
  }

  trainyard.add('pareto', {
    canvas: true,
    height: () => 440,
    option,
    setup(view) {
      const {data} = view;
      const metrics = sweep.metricChoices(data);
      const axes = sweep.axisChoices(data);
      const wanted = sweep.preferred(data);
      view.state.x = String(wanted[0]);
      view.state.y = String(wanted[1] ?? axes[0]?.[0] ?? wanted[0]);
      choose(view, 'x', 'x', 'betterX', [...metrics, ...axes]);
      choose(view, 'y', 'y', 'betterY', [...metrics, ...axes]);
      view.state.color = String(axes[0]?.[0] ?? -1);
      view.select('Color', 'color', [[-1, 'none'], ...axes, ...metrics], () =>
        view.hidden.clear());
      view.select('Scale', 'log', [['linear', 'linear'], ['log', 'logarithmic']]);
      view.note = trainyard.element('span', 'hint');
      view.controls.append(view.note);
    },
    csv(view) {
      const fronts = new Set(view.front);
      return {columns: [...view.data.columns, {title: 'front', form: 'text'}],
        rows: sweep.ok(view.data).map((row) => [...row, fronts.has(row[0])])};
    },
  });
})();
