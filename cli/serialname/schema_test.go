package serialname

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "serial-devices", "USB serial devices, of fettle serialname list.", document{})
}
