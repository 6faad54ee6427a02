// Package partition lists the partitions of AWS: parts with their own Regions, ARNs and domains.
package partition

import "strings"

// Region is a regular expression that matches the name of a Region, without anchors.
const Region = `[a-z]{2,8}(?:-[a-z]+)+-\d{1,2}`

// Partition is one partition.
type Partition struct {
	Name         string // in ARNs
	Prefix       string // of its Regions
	DNS, Dual    string // suffix of host names; Dual is for IPv4 and IPv6
	IAM, IAMDual string // host name of IAM, which has no Regions
	IAMRegion    string // Region in signatures for IAM
	Console      string // suffix of the host names of the console; "" means that it is not known
}

// partitions has the commercial partition last, because its Regions have no common prefix.
var partitions = []Partition{
	{
		"aws-cn", "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn", "iam.cn-north-1.amazonaws.com.cn",
		"iam.global.api.amazonwebservices.com.cn", "cn-north-1", "console.amazonaws.cn",
	},
	{
		"aws-us-gov", "us-gov-", "amazonaws.com", "api.aws", "iam.us-gov.amazonaws.com", "iam.us-gov.api.aws",
		"us-gov-west-1", "console.amazonaws-us-gov.com",
	},
	{
		"aws-iso", "us-iso-", "c2s.ic.gov", "api.aws.ic.gov", "iam.us-iso-east-1.c2s.ic.gov", "iam.api.aws.ic.gov",
		"us-iso-east-1", "",
	},
	{
		"aws-iso-b", "us-isob-", "sc2s.sgov.gov", "api.aws.scloud", "iam.us-isob-east-1.sc2s.sgov.gov",
		"iam.api.aws.scloud", "us-isob-east-1", "",
	},
	{
		"aws-iso-e", "eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk", "iam.eu-isoe-west-1.cloud.adc-e.uk",
		"iam.api.cloud-aws.adc-e.uk", "eu-isoe-west-1", "",
	},
	{
		"aws-iso-f", "us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov", "iam.us-isof-south-1.csp.hci.ic.gov",
		"iam.api.aws.hci.ic.gov", "us-isof-south-1", "",
	},
	{
		"aws-eusc", "eusc-", "amazonaws.eu", "api.amazonwebservices.eu", "iam.eusc-de-east-1.amazonaws.eu",
		"iam.global.api.amazonwebservices.eu", "eusc-de-east-1", "console.amazonaws-eusc.eu",
	},
	{
		"aws", "", "amazonaws.com", "api.aws", "iam.amazonaws.com", "iam.global.api.aws", "us-east-1",
		"console.aws.amazon.com",
	},
}

// Of returns the partition of a Region. A Region that has no prefix of another partition is in the commercial one.
func Of(region string) Partition {
	i := 0
	for !strings.HasPrefix(region, partitions[i].Prefix) {
		i++
	}
	return partitions[i]
}
