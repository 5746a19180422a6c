package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/internal/sorted"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// fewHosts is up to how many hosts each has a report of its own; of more there
// is one matrix.
const fewHosts = 3

// Bounds of the matrix: it is one screen.
const (
	matrixTraps = 14 // rows
	matrixName  = 12 // characters of a host's name
	matrixWhys  = 3  // reasons why hosts gave no report
)

// matrix is what many hosts say: a row for each trap, the most severe first, a
// column for each of the worst hosts.
type matrix struct {
	traps map[string]map[string]cell // by trap and host
	hosts map[string]*standing
}

// cell is what one host says of one trap.
type cell struct {
	severity trap.Severity // of the most severe finding; 0: none
	unknown  bool
}

// standing ranks a host.
type standing struct {
	critical, warning, notice, unknown int
	failed                             string // why there is no whole report
}

func (s *standing) rank() int { return s.critical*1_000_000 + s.warning*1000 + s.notice }

func newMatrix() *matrix {
	return &matrix{map[string]map[string]cell{}, map[string]*standing{}}
}

// add takes in one host.
func (m *matrix) add(host string, h *hostReport) {
	s := &standing{}
	m.hosts[host] = s
	if h.err != nil {
		s.failed = strings.TrimPrefix(strings.TrimPrefix(h.err.Error(), host+": "), "could not reach "+host+": ")
	}
	for _, r := range h.doc.Results {
		var c cell
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			switch {
			case o.Status == trap.Clear || o.Status == trap.NotApplicable || o.Hidden():
			case o.Status != trap.Found:
				c.unknown = true
				s.unknown++
			default:
				c.severity = max(c.severity, o.Severity)
				switch o.Severity {
				case trap.Critical:
					s.critical++
				case trap.Warning:
					s.warning++
				default:
					s.notice++
				}
			}
		}
		if c.severity > 0 {
			if m.traps[r.Trap] == nil {
				m.traps[r.Trap] = map[string]cell{}
			}
			m.traps[r.Trap][host] = c
		}
	}
}

// row is one trap over all hosts.
type row struct {
	id    string
	worst trap.Severity
	cells map[string]cell
}

func (m *matrix) rows() []row {
	var out []row
	for _, id := range slices.Sorted(maps.Keys(m.traps)) {
		r := row{id: id, cells: m.traps[id]}
		for _, c := range r.cells {
			r.worst = max(r.worst, c.severity)
		}
		out = append(out, r)
	}
	sorted.By(out, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(len(b.cells), len(a.cells)))
	})
	return out
}

// byRank are all hosts, the worst first.
func (m *matrix) byRank() []string {
	names := slices.Sorted(maps.Keys(m.hosts))
	sorted.By(names, func(a, b string) int { return cmp.Compare(m.hosts[b].rank(), m.hosts[a].rank()) })
	return names
}

// worstHosts are the hosts with findings, the worst first.
func (m *matrix) worstHosts() []string {
	return slices.DeleteFunc(m.byRank(), func(h string) bool { return m.hosts[h].rank() == 0 })
}

var letters = map[trap.Severity]string{trap.Critical: "C", trap.Warning: "W", trap.Notice: "n"}
var letterStyles = map[string]ui.Style{"C": ui.Red, "W": ui.Yellow, "n": ui.Cyan}

// text is the matrix for people, at most width wide.
func (m *matrix) text(width int, paint ui.Painter) string {
	var b strings.Builder
	rows, hosts := m.rows(), m.worstHosts()
	if len(rows) > 0 {
		m.table(&b, rows[:min(len(rows), matrixTraps)], hosts, width, paint)
		if more := rows[min(len(rows), matrixTraps):]; len(more) > 0 {
			var names []string
			for _, r := range more {
				names = append(names, fmt.Sprintf("%s (%d)", r.id, len(r.cells)))
			}
			b.WriteString(ui.Wrap("also "+ui.Few(names, 5), width, "", "  "))
		}
		b.WriteString("\n")
	}
	m.silent(&b, width, paint)
	return b.String()
}

// table writes the rows, with as many hosts for columns as fit.
func (m *matrix) table(b *strings.Builder, rows []row, hosts []string, width int, paint ui.Painter) {
	id := len("trap")
	for _, r := range rows {
		id = max(id, len(ui.Visible(r.id)))
	}
	id = min(id, width/3)
	room := width - id - len("  hosts") - len("  +9999")
	var shown []string
	for _, h := range hosts {
		if room -= len(column(h)) + 2; room < 0 && len(shown) > 0 {
			break
		}
		shown = append(shown, h)
	}
	head := fmt.Sprintf("%-*s  hosts", id, "trap")
	for _, h := range shown {
		head += "  " + column(h)
	}
	if len(shown) < len(hosts) {
		head += fmt.Sprintf("  +%d", len(hosts)-len(shown))
	}
	b.WriteString(paint.Paint(ui.Bold, head) + "\n")
	for _, r := range rows {
		fmt.Fprintf(b, "%-*s  %5d", id, ui.Cut(ui.Visible(r.id), id), len(r.cells))
		rest := len(r.cells)
		for _, h := range shown {
			s := "."
			if c, ok := r.cells[h]; ok {
				s, rest = letters[c.severity], rest-1
			}
			b.WriteString("  " + strings.Repeat(" ", len(column(h))-1) + paint.Paint(letterStyles[s], s))
		}
		if rest > 0 {
			fmt.Fprintf(b, "  +%d", rest)
		}
		b.WriteString("\n")
	}
	b.WriteString(paint.Paint(ui.Faint, "C critical, W warning, n notice") + "\n")
}

// column is a host's name as the head of a column: without the user and, where
// it is long, without its domain.
func column(h string) string {
	if i := strings.LastIndexByte(h, '@'); i >= 0 {
		h = h[i+1:]
	}
	if name, _, ok := strings.Cut(h, "."); ok && len(h) > matrixName && strings.Trim(name, "0123456789") != "" {
		h = name // without its domain
	}
	return ui.Cut(ui.Visible(h), matrixName)
}

// reason is why hosts gave no report.
type reason struct {
	why   string
	hosts []string
}

// reasons are why hosts gave no report, the commonest first.
func (m *matrix) reasons() []reason {
	by := map[string][]string{}
	for _, h := range slices.Sorted(maps.Keys(m.hosts)) {
		if why := m.hosts[h].failed; why != "" {
			by[why] = append(by[why], h)
		}
	}
	var out []reason
	for _, why := range slices.Sorted(maps.Keys(by)) {
		out = append(out, reason{why, by[why]})
	}
	sorted.By(out, func(a, b reason) int { return cmp.Compare(len(b.hosts), len(a.hosts)) })
	return out
}

// silent tells which hosts gave no report, by the reason.
func (m *matrix) silent(b *strings.Builder, width int, paint ui.Painter) {
	all := m.reasons()
	const margin = "          "
	for i, r := range all {
		said := fmt.Sprintf("%s: %s", ui.Few(r.hosts, 4), r.why)
		if i == matrixWhys-1 && len(all) > matrixWhys {
			n := 0
			for _, r := range all[i:] {
				n += len(r.hosts)
			}
			said = units.Count(n, "host", "hosts") + " for other reasons (-v shows)"
		}
		line := ui.Wrap(ui.Visible(said), width, margin, margin+"  ")
		b.WriteString(paint.Paint(ui.Magenta, "NO REPORT") + line[len("NO REPORT"):])
		if i == matrixWhys-1 && len(all) > matrixWhys {
			break
		}
	}
}
