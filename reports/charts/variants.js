// The table of a sweep's variants: each heading sorts all of them, the first are shown.
(() => {
  const {element, sweep} = trainyard;
  const few = 12;  // columns that are shown without being asked for

  function compare(a, b, sign) {
    if (a === b) return 0;
    if (a === null || a === undefined || a === '') return 1;
    if (b === null || b === undefined || b === '') return -1;
    const [x, y] = [Number(a), Number(b)];
    return sign * (Number.isNaN(x) || Number.isNaN(y)
      ? String(a).localeCompare(String(b)) : x - y);
  }

  function sort(view, column) {
    const descending = view.sorted === column && !view.descending;
    Object.assign(view, {sorted: column, descending});
    const rows = view.data.rows.map((row, i) => [row, i]).sort(([a, i], [b, j]) =>
      compare(a[column], b[column], descending ? -1 : 1) || i - j).map(([row]) => row);
    const table = view.figure.querySelector('table');
    table.tBodies[0].replaceChildren(...rows.slice(0, view.data.shown).map((row) =>
      line(view, row)));
    [...table.tHead.rows[0].cells].forEach((cell, i) => cell.setAttribute('aria-sort',
      i !== column ? 'none' : descending ? 'descending' : 'ascending'));
  }

  function line(view, row) {
    const made = element('tr');
    view.data.columns.forEach((column, i) => {
      const text = sweep.show(view.data, i, row);
      const cell = element(i === 0 ? 'th' : 'td', column.form === 'text' ? '' : 'r', text);
      if (i === 0) cell.scope = 'row';
      if (text.length > view.data.clip) cell.title = text;
      cell.hidden = isRest(view, i);
      made.append(cell);
    });
    return made;
  }

  // The metrics after the leading ones, in front of the reason.
  const isRest = (view, column) => !view.all && column >= view.data.leading &&
    column < view.data.columns.length - 1;

  function showRest(view, all) {
    view.all = all;
    for (const row of view.figure.querySelectorAll('tr'))
      [...row.cells].forEach((cell, i) => { cell.hidden = isRest(view, i); });
  }

  trainyard.add('variants', {
    table: true,
    setup(view) {
      const head = view.figure.querySelector('thead tr');
      [...head.cells].forEach((cell, i) => {
        const button = element('button', 'sort', cell.textContent);
        button.type = 'button';
        button.addEventListener('click', () => sort(view, i));
        cell.replaceChildren(button);
        cell.setAttribute('aria-sort', 'none');
      });
      const {columns, leading} = view.data;
      const rest = columns.length - 1 - leading;
      if (rest <= 0 || columns.length <= few) return;
      view.tick(`all metrics (${rest} more)`, false, (all) => showRest(view, all));
      showRest(view, false);
    },
  });
})();
