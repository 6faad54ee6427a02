package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Parameters of a plain template.
const (
	ParamBucket    = "AssetsBucket"
	ParamPrefix    = "AssetsPrefix"
	paramEmail     = "AlarmEmail"
	paramRetention = "LogRetention"
)

// WritePlain writes the assembly to the folder dir as one template that needs neither the CDK nor its
// bootstrap, and the functions' zips beside it. It returns the template's path. The template has parameters
// for the place of the zips, an address for alarms and alerts, the retention of logs and each function's
// memory. It changes the assembly's template.
func (a *Assembly) WritePlain(dir string) (string, error) {
	parameters := a.Template.object("Parameters")
	parameters[ParamBucket] = parameter("String", "bucket with the functions' zips, in the stack's Region")
	prefix := parameter("String", "start of the zips' keys, such as stepkeeper/")
	prefix["Default"] = ""
	parameters[ParamPrefix] = prefix
	a.Template.Each("AWS::Lambda::Function", func(id string, p map[string]any) {
		if code, ok := p["Code"].(map[string]any); ok && code["S3Key"] != nil {
			p["Code"] = map[string]any{"S3Bucket": ref(ParamBucket),
				"S3Key": map[string]any{"Fn::Sub": fmt.Sprintf("${%s}%v", ParamPrefix, code["S3Key"])}}
		}
		if p["MemorySize"] != nil {
			memory := parameter("Number", "memory of "+id+" in MB")
			memory["Default"], memory["MinValue"], memory["MaxValue"] = p["MemorySize"], 128, 10_240
			parameters[id+"Memory"], p["MemorySize"] = memory, ref(id+"Memory")
		}
	})
	a.Template.Each("AWS::Logs::LogGroup", func(_ string, p map[string]any) {
		if p["RetentionInDays"] == nil {
			return
		}
		if parameters[paramRetention] == nil {
			retention := parameter("Number", "days for which the functions' logs are kept")
			retention["Default"] = p["RetentionInDays"]
			parameters[paramRetention] = retention
		}
		p["RetentionInDays"] = ref(paramRetention)
	})
	a.subscribe(parameters)
	delete(a.Template.object("Resources"), "CDKMetadata")
	delete(a.Template.object("Conditions"), "CDKMetadataAvailable")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	m, err := a.manifest()
	if err != nil {
		return "", err
	}
	for _, file := range m.Files {
		if file.Source.Packaging != "zip" {
			continue
		}
		body, err := pack(filepath.Join(a.Dir, file.Source.Path), true)
		if err != nil {
			return "", fmt.Errorf("asset %s: %w", file.Source.Path, err)
		}
		for _, to := range file.Destinations {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(to.ObjectKey)), body, 0o644); err != nil {
				return "", err
			}
		}
	}
	text, err := json.MarshalIndent(a.Template, "", " ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, a.Stack+".template.json")
	return path, os.WriteFile(path, append(text, '\n'), 0o644)
}

// subscribe lets one parameter be the address of all e-mail subscriptions. If the app names no address, each
// topic gets a subscription that exists only if the parameter is set.
func (a *Assembly) subscribe(parameters map[string]any) {
	email := parameter("String", "address that gets alarms, and alerts of orders in Error")
	email["Default"] = ""
	a.Template.Each("AWS::SNS::Subscription", func(_ string, p map[string]any) {
		if address, is := p["Endpoint"].(string); is && p["Protocol"] == "email" {
			email["Default"], p["Endpoint"] = address, ref(paramEmail)
		}
	})
	parameters[paramEmail] = email
	if email["Default"] != "" {
		return
	}
	a.Template.object("Conditions")["HasEmail"] = map[string]any{
		"Fn::Not": []any{map[string]any{"Fn::Equals": []any{ref(paramEmail), ""}}}}
	resources := a.Template.object("Resources")
	a.Template.Each("AWS::SNS::Topic", func(id string, _ map[string]any) {
		resources[id+"Email"] = map[string]any{"Type": "AWS::SNS::Subscription", "Condition": "HasEmail",
			"Properties": map[string]any{"Protocol": "email", "TopicArn": ref(id),
				"Endpoint": ref(paramEmail)}}
	})
}

func ref(id string) map[string]any { return map[string]any{"Ref": id} }

func parameter(kind, description string) map[string]any {
	return map[string]any{"Type": kind, "Description": strings.ToUpper(description[:1]) + description[1:]}
}

// object returns a section of the template, which it adds if it is missing.
func (t Template) object(name string) map[string]any {
	section, ok := t[name].(map[string]any)
	if !ok {
		section = map[string]any{}
		t[name] = section
	}
	return section
}
