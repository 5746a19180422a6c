package history

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "history", "The recorded runs, of fettle history.", document{})
	schematest.Published(t, "diff", "How two runs, captures or hosts differ, of fettle diff.", differences{})
}
