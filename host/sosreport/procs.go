package sosreport

import (
	"strconv"
	"strings"

	"fettle/host"
)

// The two ps calls of sos's process plugin. The first has the control group,
// the second the number of the user.
var (
	psGroup = []string{"sos_commands/process/ps_axo_pid_ppid_user_group_lwp_nlwp_start_time_comm_cgroup"}
	psSched = []string{"sos_commands/process/ps_axo_flags_state_uid_pid_ppid_pgid_sid_cls_pri_addr_sz_wchan_20_lstart_tty_time_cmd",
		"sos_commands/process/ps_axo_flags_state_uid_pid_ppid_pgid_sid_cls_pri_addr_sz_wchan_lstart_tty_time_cmd",
		"sos_commands/process/ps_alxwww"}
)

func (s *Source) processes() ([]host.Process, error) {
	uids, err := s.output(psSched...)
	if err != nil {
		return nil, err
	}
	groups, err := s.output(psGroup...)
	if err != nil {
		return nil, err
	}
	return parseProcesses(groups, uids), nil
}

// parseProcesses joins the two. PID and the user's number are found by their
// headings, which stand left of all columns that may hold blanks.
func parseProcesses(groups, uids string) []host.Process {
	uid := map[int]uint32{}
	eachRow(uids, []string{"PID", "UID"}, func(v []string, _ string) {
		pid, err := strconv.Atoi(v[0])
		n, err2 := strconv.ParseUint(v[1], 10, 32)
		if err == nil && err2 == nil {
			uid[pid] = uint32(n)
		}
	})
	out := []host.Process{}
	seen := map[int]bool{}
	home := "" // the container that the report is of
	eachRow(groups, []string{"PID", "COMMAND"}, func(v []string, line string) {
		pid, err := strconv.Atoi(v[0])
		u, known := uid[pid]
		if err != nil || !known || seen[pid] { // without its user a process is not known well enough
			return
		}
		seen[pid] = true
		cg := strings.Fields(line) // a name may hold blanks; the group is last
		o := host.OwnerOf(cg[len(cg)-1])
		if pid == 1 {
			home = o.Container
		}
		o = o.SeenFrom(home)
		out = append(out, host.Process{PID: pid, Comm: v[1], UID: u, Unit: o.Unit, Container: o.Container, Inside: o.Inside})
	})
	return out
}

// eachRow calls f with the named columns of each line below the headings.
func eachRow(text string, want []string, f func(v []string, line string)) {
	var at []int
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if at == nil {
			for _, w := range want {
				for i, h := range words {
					if h == w {
						at = append(at, i)
						break
					}
				}
			}
			if len(at) < len(want) {
				at = nil // a warning before the headings
			}
			continue
		}
		v := make([]string, 0, len(at))
		for _, i := range at {
			if i < len(words) {
				v = append(v, words[i])
			}
		}
		if len(v) == len(at) {
			f(v, line)
		}
	}
}
