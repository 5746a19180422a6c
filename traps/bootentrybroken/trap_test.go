package bootentrybroken

import (
	"strings"
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host/bootimage"
)

func TestGolden(t *testing.T) { traptest.Golden(t, &Trap) }

// TestUnpacked: an initramfs that is cut off will not start; one that fettle cannot unpack may.
func TestUnpacked(t *testing.T) {
	for name, c := range map[string]struct {
		image   string
		refused bool
	}{
		"lz4":     {"\x02\x21\x4c\x18 more and more of it", false},
		"lzma":    {"\x5d\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00", false},
		"cut off": {"070701" + strings.Repeat("0", 40), true},
	} {
		_, err := bootimage.ParseInitrd(strings.NewReader(c.image))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		why, unknown := unpacked(err)
		if (why != "") != c.refused || (unknown != nil) == c.refused {
			t.Errorf("%s: %v: %q, %v", name, err, why, unknown)
		}
	}
}
