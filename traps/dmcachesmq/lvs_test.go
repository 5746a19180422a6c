package dmcachesmq

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/sosreport"
	"fettle/internal/means"
)

func TestParseLVSRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{":                                   "lvs --reportformat json: unexpected end",
		`{"report":[{"lv":[{"lv_name":5}]}]}`: "json",
		"  Volume group \"vg\" not found\n":   "json",
	} {
		if s, err := parseLVS([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", text, s, err, want)
		}
	}
	if s, err := parseLVS([]byte("\n")); err != nil || len(s) != 0 {
		t.Errorf("without volumes lvs prints nothing: %v, %v", s, err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzLVS(f *testing.F) {
	f.Add(
		[]byte(
			`{"report":[{"lv":[{"vg_name":"v","lv_name":"a","lv_attr":"Cwi-aoC---","origin":"[a_corig]","cache_total_blocks":"9","chunk_size":` +
				`"65536B"}]}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, b []byte) {
		caches, err := parseLVS(b)
		if err != nil && len(caches) > 0 {
			t.Errorf("%v, %v", caches, err)
		}
		for _, c := range caches {
			c.full()
			c.evidence()
			c.tooSmall()
		}
	})
}

// A report as sos writes it: files named after their commands, an old one
// without and a new one with other options.
func TestSosreport(t *testing.T) {
	table := "  LV    VG   Attr       LSize   Pool         Origin        Data%  Meta%  Move Log Cpy%Sync Convert LV Tags Devices\n" +
		"  da-ta vg-x Cwi-a-C--- 100.00m [fast_cpool] [da-ta_corig] 0.00   0.59            0.00                     da-ta_corig(0)\n"
	dm := "vg--x-da--ta: 0 204800 cache 8 9/2048 128 0/256 0 4800 0 0 0 0 0 2 metadata2 writethrough 2 migration_threshold 2048 smq 0 rw - \n"
	lvs := "sos_commands/lvm2/lvs_-a_-o_lv_tags_devices_"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"dmsetup": {map[string]string{"sos_commands/devicemapper/dmsetup_status": dm}, "clear vg--x-da--ta: the cache works as it should"},
		"lvs": {map[string]string{lvs + "lv_kernel_read_ahead_lv_read_ahead_stripes_stripesize_--config_global_metadata_read_only_1_--nolock" +
			"ing_--foreign": table},
			"unknown vg--x-da--ta: this lvs output shows neither the policy nor the requests; dmsetup status does"},
		"lvs of another release": {map[string]string{lvs + "something_--new": table},
			"unknown vg--x-da--ta: this lvs output shows neither the policy nor the requests; dmsetup status does"},
		"both": {map[string]string{"sos_commands/devicemapper/dmsetup_status": dm, lvs + "--config_global_locking_type_0": table},
			"clear vg--x-da--ta: the " +
				"cache works as it should"},
		"none": {nil, "unknown: read sos_commands/devicemapper/dmsetup_status: not collected in this capture"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "sosreport-x.tar")
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			add := func(name, text string) {
				w.WriteHeader(&tar.Header{Name: "sosreport-x/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))})
				w.Write([]byte(text))
			}
			add("sos_commands/kernel/uname_-a", "Linux h 6.1.0-30-amd64 #1 SMP x86_64 GNU/Linux\n")
			for n, text := range c.files {
				add(n, text)
			}
			w.Close()
			if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := sosreport.Open(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			if got := traptest.Lines(traptest.Run(t, &Trap, host.New(src))); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
