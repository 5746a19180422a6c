package measure

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "counters", "Rates of interface counters, of fettle measure counters.", countersJSON{})
}
