package sosreport

import (
	"strings"

	"fettle/host"
)

// mdadmExamine answers `mdadm --examine DEV` from what sos (plugin md) kept of
// `mdadm -E DEV` for each block device.
func (s *Source) mdadmExamine(dev string) (host.Output, error) {
	if done, ok := s.man.byExec["mdadm -E "+dev]; ok && !done.usable() {
		return host.Output{}, host.ErrNotCollected
	}
	text, err := s.output("sos_commands/md/mdadm_-E_" + strings.ReplaceAll(dev, "/", "."))
	if err != nil {
		return host.Output{}, err
	}
	out := host.Output{Stdout: []byte(text)}
	if strings.HasPrefix(text, "mdadm: ") { // reports of before the manifest do not tell the status
		out.Exit = 1
	}
	return out, nil
}
