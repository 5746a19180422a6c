package sosreport

import (
	"encoding/json"
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

// lvsTable is what lvs 2.03.16 printed of a cache on Linux 6.1.
const lvsTable = `  WARNING: locking_type (0) is deprecated, using --nolocking.
  LV                 VG   Attr       LSize   Pool         Origin        Data%  Meta%  Move Log Cpy%Sync Convert LV Tags Devices             KRahead Rahead #Str Stripe
  da-ta              vg-x Cwi-a-C--- 100.00m [fast_cpool] [da-ta_corig] 99.90  0.44            0.00                     da-ta_corig(0)      128.00k   auto    1     0 
  da-ta              vg-x Cwi-a-C--- 100.00m [fast_cpool] [da-ta_corig] 99.90  0.44            0.00                     da-ta_corig(9)      128.00k   auto    1     0 
  [da-ta_corig]      vg-x owi-aoC--- 100.00m                                                                            /dev/loop0(0)       128.00k   auto    1     0 
  [fast_cpool]       vg-x Cwi---C---  16.00m                            99.90  0.44            0.00                     fast_cpool_cdata(0)      -1   auto    1     0 
  short              vg-x -wi-a-----
`

func TestParseLVS(t *testing.T) {
	got, err := parseLVS(lvsTable)
	b, _ := json.Marshal(got)
	want := `[{"data_percent":"99.90","lv_attr":"Cwi-a-C---","lv_name":"da-ta",` +
		`"origin":"[da-ta_corig]","pool_lv":"[fast_cpool]","vg_name":"vg-x"},` +
		`{"data_percent":"","lv_attr":"owi-aoC---","lv_name":"[da-ta_corig]","origin":"","pool_lv":"","vg_name":"vg-x"},` +
		`{"data_percent":"99.90","lv_attr":"Cwi---C---","lv_name":"[fast_cpool]","origin":"","pool_lv":"","vg_name":"vg-x"},` +
		`{"lv_attr":"-wi-a-----","lv_name":"short","vg_name":"vg-x"}]`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
	if _, err := parseLVS("  Volume group \"vg\" not found\n"); err == nil || !strings.Contains(err.Error(), "without its heading") {
		t.Error(err)
	}
	if got, err := parseLVS("\n"); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParseLVS(f *testing.F) {
	f.Add(lvsTable)
	f.Add("LV VG Attr LV Tags Data% Origin\nx")
	f.Add("LV VG Attr\n\xff\xfe \t x\n")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseLVS(s)
		if err != nil && len(got) > 0 {
			t.Error(got, err)
		}
	})
}

func TestLVSFiles(t *testing.T) {
	for _, f := range lvsFiles {
		if !strings.HasPrefix(f, "sos_commands/lvm2/lvs_-a_-o_") {
			t.Error(f)
		}
	}
	if err := (host.Command{Name: "lvs", Args: []string{"-a"}}).Allowed(); err == nil {
		t.Error("lvs with any arguments is allowed")
	}
}
