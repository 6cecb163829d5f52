// A metric of a sweep over two axes. Of the other axes one value, or the best over all.
(() => {
  const {format, heat, tip, variable, sweep} = trainyard;
  const BEST = '*';

  const others = (view) => sweep.axisChoices(view.data).filter(([column]) =>
    String(column) !== view.state.row && String(column) !== view.state.column);

  // The best variant of each cell.
  function cells(view) {
    const {data} = view;
    const [row, column, metric] = ['row', 'column', 'metric'].map((key) => Number(view.state[key]));
    const sign = view.state.better === 'low' ? 1 : -1;
    const fits = (one) => others(view).every(([axis]) =>
      view.state[`axis${axis}`] === BEST || String(one[axis]) === view.state[`axis${axis}`]);
    const best = new Map();
    for (const one of sweep.ok(data)) {
      if (one[metric] === null || !fits(one)) continue;
      const key = JSON.stringify([one[column], one[row]]);
      const held = best.get(key);
      if (!held || sign * one[metric] < sign * held[metric]) best.set(key, one);
    }
    return best;
  }

  // Pairs without a variant, which would look like little on a dark page.
  function emptyCells(best, rows, columns, row, column) {
    const taken = new Set(best.map((one) => JSON.stringify([one[column], one[row]])));
    return rows.flatMap((low, y) => columns.map((high, x) => [x, y, JSON.stringify([high, low])]))
      .filter(([, , key]) => !taken.has(key)).map(([x, y]) => ({value: [x, y, 0],
        itemStyle: {color: 'transparent'}, label: {show: true, color: variable('--dim')}}));
  }

  function option(view) {
    const {data} = view;
    const [row, column, metric] = ['row', 'column', 'metric'].map((key) => Number(view.state[key]));
    const [rows, columns] = [sweep.values(data, row), sweep.values(data, column)];
    const best = [...cells(view).values()];
    const numbers = best.map((one) => one[metric]);
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    const about = data.columns[metric];
    if (best.length > 0) {
      view.scale(about.title, format.show(about, low), format.show(about, high));
    } else {
      view.legendBox.replaceChildren(trainyard.element('span', '', 'No variant has these values.'));
    }
    const share = (value) => (value - low) / (high - low || 1);
    const width = (view.plot.clientWidth || 700) / columns.length;
    const category = (axis, values, more) => view.axis({type: 'category',
      name: data.columns[axis].title, splitLine: {show: false}, ...more,
      data: values.map(sweep.word)});
    return {
      grid: {left: 30, right: 16, top: 30, bottom: 46, containLabel: true},
      tooltip: view.tooltip((at) => (at.data.row ? sweep.describe(data, at.data.row)
        : tip('no variant with a result', []))),
      xAxis: category(column, columns, {nameGap: 28}),
      yAxis: category(row, rows, {inverse: true, nameLocation: 'start', nameGap: 8,
        nameTextStyle: {color: variable('--dim'), align: 'left'},
        axisLabel: {interval: 0, width: 160, overflow: 'truncate'}}),
      series: [{
        type: 'heatmap', progressive: 0,
        data: [...best.map((one) => ({row: one,
          value: [columns.indexOf(one[column]), rows.indexOf(one[row]), one[metric]],
          itemStyle: {color: heat(share(one[metric]))},
          label: {color: inkOn(share(one[metric]))}})), ...emptyCells(best, rows, columns, row, column)],
        itemStyle: {borderWidth: 1, borderColor: variable('--line')},
        label: {show: width > 64, fontSize: 12,
          formatter: (at) => (at.data.row ? format.show(about, at.value[2]) : '–')},
      }],
    };
  }

  // Much is dark in the light theme, and light in the dark one.
  const inkOn = (share) => ((share > 0.45) === trainyard.isDark() ? '#111' : '#fff');

  // Choices of the axes that are neither rows nor columns, made anew when these change.
  function chooseOthers(view) {
    for (const box of view.controls.querySelectorAll('label.other')) box.remove();
    for (const [axis, name] of others(view)) {
      const select = view.select(name, `axis${axis}`, [[BEST, 'best of all'],
        ...sweep.values(view.data, axis).map((value) => [String(value),
          sweep.clip(sweep.word(value))])]);
      select.parentElement.className = 'other';
    }
  }

  function swap(view, changed, other) {
    if (view.state[changed] === view.state[other]) {
      const free = sweep.axisChoices(view.data).find(([column]) =>
        String(column) !== view.state[changed]);
      view.state[other] = String(free[0]);
      view.controls.querySelector(`select[name="${other}"]`).value = view.state[other];
    }
    chooseOthers(view);
  }

  function preset(view) {
    view.state.better =
      sweep.higherIsBetter(view.data, Number(view.state.metric)) ? 'high' : 'low';
    if (view.better) view.better.value = view.state.better;
  }

  trainyard.add('grid', {
    canvas: true,
    height: (view) => 104 + Math.min(Math.max(
      sweep.values(view.data, Number(view.state.row)).length, 3), 30) * 30,
    option,
    setup(view) {
      const axes = sweep.axisChoices(view.data);
      view.state.column = String(axes[1][0]);
      view.select('Rows', 'row', axes, () => swap(view, 'row', 'column'));
      view.select('Columns', 'column', axes, () => swap(view, 'column', 'row'));
      view.state.metric = String(sweep.preferred(view.data)[0]);
      view.select('Metric', 'metric', sweep.metricChoices(view.data), () => preset(view));
      preset(view);
      view.better = view.select('Best is', 'better', [['low', 'lowest'], ['high', 'highest']]);
      chooseOthers(view);
    },
    csv(view) {
      return {columns: view.data.columns, rows: [...cells(view).values()]};
    },
  });
})();
