package explain

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "article", "An article, of fettle explain.", document{})
	schematest.Published(t, "traps", "The traps that fettle knows, of fettle list.", traps{})
}
