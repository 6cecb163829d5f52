// What the charts of a sweep share: columns as choices, values of an axis, the text of a variant.
trainyard.sweep = (() => {
  const AXES = 2;  // columns of the name and of the state stand before those of the axes
  const ok = (data) => (data.okRows ??= data.rows.filter((row) => row[1] === 'ok'));
  const metricColumn = (data, i) => AXES + data.axes.length + i;

  const axisChoices = (data) => data.axes.map((axis, i) => [AXES + i, axis.name])
    .filter(([column]) => values(data, column).length > 1);
  const metricChoices = (data) => data.metrics.map((metric, i) =>
    [metricColumn(data, i), metric.title]);

  // Of an axis, in the order of the sweep; what no variant with a result has is left out.
  function values(data, column) {
    const present = new Set(ok(data).map((row) => row[column]));
    const listed = data.axes[column - AXES].values.map((v) => (v === null ? null : String(v)));
    const rest = [...present].filter((value) => !listed.includes(value));
    return [...new Set([...listed, ...rest])].filter((value) => present.has(value));
  }

  const isMetric = (data, column) => column >= metricColumn(data, 0);
  const higherIsBetter = (data, column) =>
    isMetric(data, column) && data.metrics[column - metricColumn(data, 0)].higher_is_better;

  // The columns of the objectives, then of the metrics that have most to say.
  function preferred(data) {
    const keys = data.metrics.map((metric) => metric.key);
    return [...data.objectives, ...keys].map((key) => keys.indexOf(key)).filter((i) => i >= 0)
      .map((i) => metricColumn(data, i));
  }

  const isAxis = (data, column) => column >= AXES && column < metricColumn(data, 0);
  // A value of an axis: none leaves what the scenario says.
  const word = (value) => value ?? 'not set';
  const show = (data, column, row) => (isAxis(data, column) ? word(row[column])
    : trainyard.format.show(data.columns[column], row[column]));

  function describe(data, row) {
    const {columns} = data;
    return trainyard.tip(row[0], columns.map((column, i) =>
      [column.title, clip(show(data, i, row))])
      .filter((line, i) => i >= AXES && row[i] !== null && i < columns.length - 1));
  }

  function clip(text) {
    return text.length > 80 ? `${text.slice(0, 79)}…` : text;
  }

  return {word, show, clip, ok, axisChoices, metricChoices, values, isMetric, higherIsBetter, preferred, describe};
})();
