package main

import (
	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"duplex/core"
	"duplex/tools"
)

// seriesPredictor completes the values of --series, whose fields have the tag predictor.
func seriesPredictor() kongcompletion.Option {
	var names []string
	for _, s := range core.AllSeries() {
		names = append(names, tools.SeriesName(s))
	}
	return kongcompletion.WithPredictor("series", complete.PredictSet(names...))
}

// completionCmd is `dx completion SHELL`.
type completionCmd struct {
	Shell string `arg:"" optional:"" enum:"bash,zsh,fish," default:"" help:"bash, zsh or fish. Default: the login shell."`
	Code  bool   `short:"c" hidden:"" help:"Accepted and ignored: the script is always printed."`
}

func (c *completionCmd) Help() string {
	return `Put the line for your shell into its start-up file, such as ~/.bashrc:

  source <(dx completion bash)
  source <(dx completion zsh)
  dx completion fish | source`
}

func (c *completionCmd) Run(k *kong.Context) error {
	script := kongcompletion.Completion{Shell: c.Shell, Code: true}
	return script.Run(k)
}
