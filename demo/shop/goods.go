package shop

type country struct {
	code, currency string
	cities         []string
	names          []string
}

var countries = []country{
	{
		"DE", "EUR",
		[]string{"Köln", "München", "Görlitz", "Bremen"},
		[]string{"Jürgen Weiß", "Anke Möller", "Søren Großmann", "Lea Fuchs"},
	},
	{
		"FR", "EUR",
		[]string{"Besançon", "Orléans", "Nîmes"},
		[]string{"Zoé Lefèvre", "François Noël", "Maëlys Hébert"},
	},
	{
		"PL", "PLN",
		[]string{"Łódź", "Gdańsk", "Kraków"},
		[]string{"Małgorzata Wójcik", "Paweł Żak", "Agnieszka Ślusarczyk"},
	},
	{
		"GB", "GBP",
		[]string{"Leeds", "Stoke-on-Trent", "Bath"},
		[]string{"Ada O'Brien", "Tom Fairweather", "Niamh Clarke"},
	},
	{
		"US", "USD",
		[]string{"Portland", "Coeur d'Alene", "San José"},
		[]string{"María García-López", "Jamal Washington", "Wei Chen"},
	},
	{"JP", "JPY", []string{"札幌市", "横浜市", "神戸市"}, []string{"佐藤 花子", "鈴木 一郎", "高橋 美咲"}},
	{"GR", "EUR", []string{"Θεσσαλονίκη", "Πάτρα"}, []string{"Ελένη Παπαδοπούλου", "Γιώργος Νικολάου"}},
	{"TR", "TRY", []string{"İzmir", "Şanlıurfa"}, []string{"Çağlar Yıldız", "Gül İnönü"}},
	{"IN", "INR", []string{"पुणे", "जयपुर"}, []string{"अनिता शर्मा", "रवि कुमार"}},
	{"EG", "EGP", []string{"القاهرة", "الإسكندرية"}, []string{"ليلى حسن", "عمر فاروق"}},
	{"IL", "ILS", []string{"תל אביב", "חיפה"}, []string{"נועה לוי", "דוד כהן"}},
	{"BR", "BRL", []string{"São Paulo", "Belém"}, []string{"João Araújo", "Conceição Leão"}},
	{"KR", "KRW", []string{"부산", "대전"}, []string{"김민준", "이서연"}},
	{"VN", "VND", []string{"Đà Nẵng", "Huế"}, []string{"Nguyễn Thị Hạnh", "Trần Văn Đức"}},
	{"IS", "ISK", []string{"Ísafjörður", "Þórshöfn"}, []string{"Þórunn Æsudóttir", "Eiður Ómarsson"}},
	{"CH", "CHF", []string{"Zürich", "Delémont"}, []string{"Reto Bühler", "Chloé Aebischer"}},
	{"ZA", "ZAR", []string{"Gqeberha", "Polokwane"}, []string{"Thandiwe Mokoena", "Pieter du Preez"}},
	{"CA", "CAD", []string{"Trois-Rivières", "Moose Jaw"}, []string{"Océane Tremblay", "Liam MacDonald"}},
}

// product is a product of the shop. The price is the same number of minor units in every currency.
type product struct {
	sku      string
	price    int64
	physical bool
}

var products = []product{
	{"MUG-BLUE-01", 1290, true},
	{"MUG-RED-02", 1290, true},
	{"TEE-S-11", 2450, true},
	{"TEE-XL-14", 2450, true},
	{"BOOK-GO-7", 3999, true},
	{"BOOK-SAGA-9", 4450, true},
	{"LAMP-OAK-3", 8900, true},
	{"CHAIR-4", 15900, true},
	{"POSTER-A2", 990, true},
	{"PEN-SET-5", 1750, true},
	{"BIKE-BELL", 1199, true},
	{"TEA-GREEN-250G", 875, true},
	{"EBOOK-GO-7", 1999, false},
	{"EBOOK-SAGA-9", 2299, false},
	{"COURSE-DDD", 12900, false},
	{"LICENSE-PRO-1Y", 24900, false},
	{"SONG-0042", 129, false},
	{"GIFTCARD-25", 2500, false},
}

var (
	limited = []string{"LTD-PRINT-1", "LTD-VINYL-2"}
	soldOut = []string{"SOLDOUT-CLOCK", "SOLDOUT-GLOBE"}
)

var (
	goodCards = []string{"tok_visa", "tok_mastercard", "tok_amex", "tok_sepa"}
	badCards  = []string{"tok_declined", "tok_expired", "tok_empty"}
)
