package cli

import "fettle/host"

func openFrom(path string) (host.Source, error) { return nil, host.ErrUnsupported }
