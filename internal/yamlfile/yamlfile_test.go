package yamlfile

import (
	"errors"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestGuard(t *testing.T) {
	var v struct{ A []string }
	err := Guard(func() error { return yaml.Unmarshal([]byte("a: !x\nb: 1\n"), &v) })
	if err == nil {
		t.Error("a tag is taken for a list")
	}
	if err := Guard(func() error { panic("odd") }); err == nil || err.Error() != "the YAML parser cannot read this" {
		t.Errorf("%v", err)
	}
	wrong := errors.New("wrong")
	if err := Guard(func() error { return wrong }); err != wrong {
		t.Errorf("%v", err)
	}
	if err := Guard(func() error { return yaml.Unmarshal([]byte("a: [x]\n"), &v) }); err != nil || len(v.A) != 1 {
		t.Errorf("%v: %v", v, err)
	}
}
