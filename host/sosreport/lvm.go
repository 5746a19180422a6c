package sosreport

import (
	"encoding/json"
	"fmt"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// dmsetupStatus is dmsetup status, of reports without a manifest (plugin
// devicemapper).
const dmsetupStatus = "sos_commands/devicemapper/dmsetup_status"

// lvsFiles are where the plugin lvm2 keeps `lvs -a -o +…`: its fields and
// options, which are the file's name, changed between releases.
var lvsFiles = []string{
	"sos_commands/lvm2/" +
		"lvs_-a_-o_lv_tags_devices_lv_kernel_read_ahead_lv_read_ahead_stripe" +
		"s_stripesize_--config_global_metadata_read_only_1_--nolocking_--foreign",
	"sos_commands/lvm2/" +
		"lvs_-a_-o_lv_tags_devices_lv_kernel_read_ahead_lv_read_ahead_stripes_stripesize_--config_global_locking_type_0_metadata_read_only_1",
	"sos_commands/lvm2/lvs_-a_-o_lv_tags_devices_--config_global_locking_type_0",
}

// lvs answers `lvs --reportformat json` with what sos's table tells. Fields
// that it does not have are missing, whatever was asked for.
func (s *Source) lvs() (host.Output, error) {
	text, err := s.output(lvsFiles...)
	if err != nil { // another release's name
		es, _ := s.tree.ReadDir("/sos_commands/lvm2")
		for _, e := range es {
			if strings.HasPrefix(e.Name, "lvs_-a_-o_") && err != nil {
				text, err = s.output("sos_commands/lvm2/" + e.Name)
			}
		}
	}
	if err != nil {
		return host.Output{}, err
	}
	lvs, err := parseLVS(text)
	if err != nil {
		return host.Output{}, err
	}
	type report struct {
		LV []map[string]string `json:"lv"`
	}
	b, err := json.Marshal(map[string][]report{"report": {{lvs}}})
	return host.Output{Stdout: b}, err
}

// lvsFields are the columns of lvs's usual table whose fields checks ask for.
var lvsFields = map[string]string{
	"LV":     "lv_name",
	"VG":     "vg_name",
	"Attr":   "lv_attr",
	"Pool":   "pool_lv",
	"Origin": "origin",
	"Data%":  "data_percent",
}

// lvsColumn finds the headings, of which only the tags' has a space before
// those that sos adds.
var lvsColumn = lazy.Regexp(`LV Tags|\S+`)

// parseLVS reads lvs's table: a heading, and rows whose fields are below it
// and may be empty. A volume of several segments has a row for each; the first
// is taken.
func parseLVS(text string) ([]map[string]string, error) {
	var heads [][]int
	var names []string
	out := []map[string]string{}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if heads == nil {
			if f := strings.Fields(line); len(f) > 2 && f[0] == "LV" && f[1] == "VG" && f[2] == "Attr" {
				heads = lvsColumn().FindAllStringIndex(line, -1)
				for _, h := range heads {
					names = append(names, lvsFields[line[h[0]:h[1]]])
				}
			}
			continue
		}
		lv := map[string]string{}
		for i, name := range names {
			from, to := heads[i][0], len(line)
			if i+1 < len(heads) {
				to = min(to, heads[i+1][0])
			}
			if name != "" && from < to {
				lv[name] = strings.TrimSpace(line[from:to])
			}
		}
		if id := lv["vg_name"] + "/" + lv["lv_name"]; id != "/" && !seen[id] {
			seen[id] = true
			out = append(out, lv)
		}
	}
	if heads == nil && strings.TrimSpace(text) != "" {
		return nil, fmt.Errorf("lvs: a table without its heading (LV VG Attr): %.60q: %w", strings.TrimSpace(text), host.ErrNotCollected)
	}
	return out, nil
}
