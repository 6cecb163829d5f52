// What equipment draws and costs: a bar for each kind, for several runs beside each other.
(() => {
  const {format, colorOfRun, tip, variable} = trainyard;
  const [RUN, NAME] = [0, 1];
  const measures = [4, 3, 5, 2];

  const distinct = (view, column) => [...new Set(view.data.rows.map((row) => row[column]))];

  function bars(view) {
    const column = Number(view.state.measure);
    const sums = new Map();
    for (const row of view.data.rows)
      sums.set(row[NAME], Math.max(sums.get(row[NAME]) ?? 0, row[column]));
    return distinct(view, NAME).filter((name) => sums.get(name) > 0)
      .sort((a, b) => sums.get(b) - sums.get(a));
  }

  function option(view) {
    const column = Number(view.state.measure);
    const about = view.data.columns[column];
    const names = bars(view);
    const runs = distinct(view, RUN);
    const rowOf = (run, name) =>
      view.data.rows.find((row) => row[RUN] === run && row[NAME] === name);
    return {
      grid: {left: 12, right: 90, top: 8, bottom: 44, containLabel: true},
      tooltip: view.tooltip((at) => tip(`${names[at.dataIndex]}, ${at.seriesName}`,
        [2, 3, 4, 5].map((i) => [view.data.columns[i].title, format.show(view.data.columns[i],
          rowOf(at.seriesName, names[at.dataIndex])?.[i])]))),
      xAxis: view.axis({type: 'value', name: format.name(about), nameGap: 28,
        axisLabel: {formatter: (x) => format.tick(about, x)}}),
      yAxis: view.axis({type: 'category', inverse: true, data: names,
        axisLabel: {interval: 0, width: 220, overflow: 'truncate'}}),
      series: runs.filter((run) => !view.hidden.has(run)).map((run) => ({
        type: 'bar', name: run, barMaxWidth: 18,
        itemStyle: {color: colorOfRun(view, run)},
        data: names.map((name) => rowOf(run, name)?.[column] ?? null),
        label: {show: true, position: 'right', color: variable('--ink'), fontSize: 11,
          formatter: (at) => at.value ? format.show(about, at.value) : ''},
      })),
    };
  }

  trainyard.add('equipment', {
    height: (view) => 70 + bars(view).length *
      (12 + 18 * Math.max(distinct(view, RUN).length - view.hidden.size, 1)),
    option,
    setup(view) {
      view.select('Show', 'measure',
        measures.map((column) => [column, view.data.columns[column].title]));
      const runs = distinct(view, RUN);
      if (runs.length < 2) return;
      view.legend(runs.map((run) => ({key: run, title: run, color: colorOfRun(view, run)})));
    },
  });
})();
