package dmcachesmq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"fettle/host"
)

// lvsFields are asked of lvs where dmsetup is not available. All are in
// lvm2 2.02.148 of 2016 and newer.
const lvsFields = "vg_name,lv_name,lv_attr,data_percent,cache_policy,kernel_cache_policy,cache_mode,kernel_cache_settings,chunk_size," +
	"cache_total_blocks,cache_used_blocks,cache_dirty_blocks,cache_read_hits,cache_read_misses,cache_write_hits,cache_write_misses," +
	"lv_health_status,lv_check_needed,pool_lv,origin"

func viaLVS(ctx context.Context, h *host.Host) ([]*status, error) {
	out, err := h.Run(ctx, "lvs", "-a", "--reportformat", "json", "--units", "b", "--config", host.LVMReadOnly, "-o", lvsFields)
	if err != nil {
		return nil, err
	}
	if out.Exit != 0 {
		return nil, failed("lvs", out)
	}
	return parseLVS(out.Stdout)
}

// parseLVS reads the caches that lvs --reportformat json shows. Of a
// sosreport most fields are missing.
func parseLVS(b []byte) ([]*status, error) {
	var said struct {
		Report []struct{ LV []map[string]string }
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, nil // no volume
	}
	if err := json.Unmarshal(b, &said); err != nil {
		return nil, fmt.Errorf("lvs --reportformat json: %w", err)
	}
	var out []*status
	for _, r := range said.Report {
		for _, lv := range r.LV {
			s := &status{name: dmName(lv["vg_name"], lv["lv_name"]), from: "lvs"}
			if !s.attributes(lv["lv_attr"], lv["lv_name"], lv["origin"]) {
				continue
			}
			s.policy, s.mode = lv["kernel_cache_policy"], lv["cache_mode"]
			if s.policy == "" {
				s.policy = lv["cache_policy"]
			}
			n := func(field string) (v uint64, ok bool) {
				v, err := strconv.ParseUint(strings.TrimSuffix(lv[field], "B"), 10, 64)
				return v, err == nil
			}
			var ok [6]bool
			s.readHits, ok[0] = n("cache_read_hits")
			s.readMisses, ok[1] = n("cache_read_misses")
			s.writeHits, ok[2] = n("cache_write_hits")
			s.writeMisses, ok[3] = n("cache_write_misses")
			s.used, ok[4] = n("cache_used_blocks")
			s.total, ok[5] = n("cache_total_blocks")
			s.counts = ok == [6]bool{true, true, true, true, true, true} && s.total > 0
			s.dirty, _ = n("cache_dirty_blocks")
			chunk, _ := n("chunk_size")
			s.blockSectors = chunk / 512
			for setting := range strings.SplitSeq(lv["kernel_cache_settings"], ",") {
				if v, ok := strings.CutPrefix(setting, "migration_threshold="); ok {
					s.threshold, _ = strconv.ParseUint(v, 10, 64)
				}
			}
			switch health := lv["lv_health_status"]; {
			case health == "failed":
				s.failed = true
			case health == "metadata_read_only":
				s.readOnly = true
			}
			s.check = s.check || lv["lv_check_needed"] == "check needed"
			s.fill, _ = strconv.ParseFloat(lv["data_percent"], 64)
			out = append(out, s)
		}
	}
	return out, nil
}

// attributes takes what lv_attr says (lvs(8), NOTES), and tells whether this is
// a volume that dm-cache caches, and active. dm-writecache's look the same but
// for the name of their origin.
func (s *status) attributes(attr, name, origin string) bool {
	if len(attr) < 9 || attr[0] != 'C' || strings.HasPrefix(name, "[") || !strings.HasSuffix(strings.Trim(origin, "[]"), "_corig") {
		return false
	}
	switch attr[8] {
	case 'F':
		s.failed = true
	case 'M':
		s.readOnly = true
	}
	s.check = attr[4] == 'c' || attr[4] == 'C'
	return attr[4] != '-' && attr[4] != 'd' && attr[4] != 'i'
}

// dmName is the name that device-mapper has for a logical volume: hyphens of
// the names are doubled (lvm2, lib/misc/lvm-string.c, build_dm_name).
func dmName(vg, lv string) string {
	return strings.ReplaceAll(vg, "-", "--") + "-" + strings.ReplaceAll(lv, "-", "--")
}
