const t = this.closest('table'), k = this.parentNode.cellIndex, head = this.parentNode;
const down = head.ariaSort === 'descending' ? 1 : -1;
const value = (row) => row.cells[k].dataset.value ?? row.cells[k].textContent.trim();
for (const cell of t.tHead.rows[0].cells) cell.ariaSort = null;
head.ariaSort = down === 1 ? 'ascending' : 'descending';
t.tBodies[0].append(...[...t.tBodies[0].rows].sort((a, b) => {
const p = value(a), q = value(b);
return down * (isNaN(p) || isNaN(q) ? p.localeCompare(q, 'en', { numeric: true }) : p - q); }));
