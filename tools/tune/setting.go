package tune

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fettle/tools/measure/ksm"
)

// Setting is ksm.ParseSetting, and "tune" or "tune:20%": the controller with
// that budget, whatever memory is free and whoever waits, so that what it can
// do is measured.
func Setting(text string) (ksm.Setting, error) {
	name, budget, given := strings.Cut(text, ":")
	if name != "tune" {
		return ksm.ParseSetting(text)
	}
	p, err := policy(budget, given)
	if err != nil {
		return ksm.Setting{}, fmt.Errorf("%q: %w", text, err)
	}
	return ksm.Setting{Name: text, Run: func(ctx context.Context, k *ksm.Kernel, l *ksm.Lease) error {
		return (&Tuner{Kernel: k, Lease: l, Policy: p}).Run(ctx)
	}}, nil
}

// policy is that of a measurement with a budget such as 20%, or the default one.
func policy(budget string, given bool) (Policy, error) {
	p := Policy{Budget: Default.Budget, Peak: 1, Free: 1, Pressure: 1}
	if !given {
		return p, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(budget, "%"), 64)
	if err != nil || !strings.HasSuffix(budget, "%") || !(n >= 0.1 && n <= 100) {
		return p, errors.New("expected tune:SHARE with 0.1% to 100%")
	}
	p.Budget = n / 100
	return p, nil
}
