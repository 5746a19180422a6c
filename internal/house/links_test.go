package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What goes on every host boots no kernels, draws no pictures, serves no web
// pages, and compiles no rules with somebody else's compiler.
var notOnHosts = []string{
	"fettle/lab", "fettle/traps/proofs", "fettle/chart/draw", "fettle/lore/cel/oracle", "fettle/bisect",
	"gonum.org", "golang.org/x/image", "github.com/golang/freetype", "codeberg.org/go-fonts", "codeberg.org/go-latex",
	"net/http",
	"cel.dev", "google.golang.org/protobuf", "github.com/antlr4-go",
	"github.com/ProtonMail/go-crypto/openpgp/packet", "github.com/cloudflare/circl",
}

// TestWhatFettleLinks holds cmd/fettle to it, with all that it imports.
func TestWhatFettleLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "fettle/cmd/fettle").Output()
	if err != nil {
		t.Fatal("go list:", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "fettle/cli") {
		t.Fatalf("go list names %d packages, and not fettle/cli", len(deps))
	}
	for _, d := range deps {
		for _, not := range notOnHosts {
			if d == not || strings.HasPrefix(d, not+"/") || strings.Contains(d, "/proof/") || strings.HasSuffix(d, "/proof") {
				t.Errorf("cmd/fettle links %s, which does not belong on hosts", d)
				break
			}
		}
	}
}
