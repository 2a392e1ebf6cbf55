package dashboard

// findingTexts are the sentences of signer.Finding.
var findingTexts = texts{
	"a line end was signed after the text":                                               {"đã ký thêm dấu xuống dòng sau văn bản", "文本后多签了一个换行"},
	"a blank was signed after the text":                                                  {"đã ký thêm dấu cách sau văn bản", "文本后多签了一个空格"},
	"a bar was signed after the text":                                                    {"đã ký thêm dấu gạch đứng sau văn bản", "文本后多签了一个竖线"},
	"secretKey was left out at the end":                                                  {"thiếu secretKey ở cuối", "末尾缺少 secretKey"},
	"%s was signed as %q, not as %q":                                                     {"%s được ký là %q, không phải %q", "%s 签名时为 %q，而不是 %q"},
	"%s stands where %s belongs":                                                         {"%s đứng ở chỗ của %s", "%s 占了 %s 的位置"},
	"the text of %s was signed":                                                          {"đã ký văn bản của %s", "签的是 %s 的文本"},
	"the signature is not base64":                                                        {"chữ ký không phải base64", "签名不是 base64"},
	"another key signed":                                                                 {"một khóa khác đã ký", "由另一个密钥签名"},
	"the body carries no signature":                                                      {"nội dung không mang chữ ký", "正文不含签名"},
	"the header %s is missing":                                                           {"thiếu tiêu đề %s", "缺少请求头 %s"},
	"%s was left out together with its bar; an absent value is an empty slot":            {"%s bị bỏ cùng dấu gạch đứng; giá trị vắng mặt là một ô trống", "%s 连同竖线一起被省略；缺少的值应为空位"},
	"the key is right; another secretKey was signed, or more than one value differs":     {"khóa đúng; đã ký secretKey khác, hoặc nhiều hơn một giá trị bị khác", "密钥正确；签的是另一个 secretKey，或有多个值不同"},
	"the signature has %d bytes and the key makes %d: it was cut, or another key signed": {"chữ ký có %d byte còn khóa tạo ra %d: chữ ký bị cắt, hoặc khóa khác đã ký", "签名有 %d 字节，而密钥生成 %d 字节：签名被截断，或由另一个密钥签名"},
	"the key is right, but the digest is not SHA-256":                                    {"khóa đúng, nhưng hàm băm không phải SHA-256", "密钥正确，但摘要不是 SHA-256"},
	"another key signed, or the padding is PSS and not PKCS#1 v1.5":                      {"khóa khác đã ký, hoặc dùng PSS thay vì PKCS#1 v1.5", "由另一个密钥签名，或填充是 PSS 而不是 PKCS#1 v1.5"},
	"the body carries two signatures; one stands either in data or beside it":            {"nội dung mang hai chữ ký; chỉ được có một, trong data hoặc bên cạnh data", "正文含两个签名；只应在 data 内或 data 旁有一个"},
	"the body has %d bytes, more than the %d that a notification can hold":               {"nội dung có %d byte, nhiều hơn %d byte mà một thông báo có thể chứa", "正文有 %d 字节，超过通知上限 %d 字节"},
	"the body is not a notification: it has no object data":                              {"nội dung không phải thông báo: không có đối tượng data", "正文不是通知：没有 data 对象"},
	"the body is not strict JSON: it was cut, changed or is something else":              {"nội dung không phải JSON hợp lệ: đã bị cắt, bị sửa hoặc là thứ khác", "正文不是严格的 JSON：被截断、被更改或是其他内容"},
	"the key is right, but data is not what was signed: something in it was changed, added or left out": {
		"khóa đúng, nhưng data không phải thứ đã ký: có gì đó bị sửa, thêm hoặc bớt", "密钥正确，但 data 不是所签的内容：其中有内容被更改、添加或删除"},
	"%s must be seconds since 1970 in plain digits":         {"%s phải là số giây từ 1970, chỉ gồm chữ số", "%s 必须是自 1970 年以来的秒数，仅含数字"},
	"webhook-signature holds no token that begins with v1,": {"webhook-signature không có phần nào bắt đầu bằng v1,", "webhook-signature 中没有以 v1, 开头的部分"},
	"right without the line end that follows the body here": {"đúng khi bỏ dấu xuống dòng sau nội dung", "去掉正文后的换行即正确"},
	"the body was written again: white space was put between its parts. Verify the bytes as they came, before anything parses them": {
		"nội dung đã được ghi lại: có thêm khoảng trắng giữa các phần. Hãy kiểm tra các byte đúng như khi nhận, trước khi phân tích", "正文被重新写过：各部分之间多了空白。请在解析之前按收到的字节验证"},
	"the body was written again: the number %s stands here as %s. Verify the bytes as they came, before anything parses them": {
		"nội dung đã được ghi lại: số %s ở đây thành %s. Hãy kiểm tra các byte đúng như khi nhận, trước khi phân tích", "正文被重新写过：数字 %s 在这里写成了 %s。请在解析之前按收到的字节验证"},
	"the body was written again: its members stand in another order. Verify the bytes as they came, before anything parses them": {
		"nội dung đã được ghi lại: các trường đứng theo thứ tự khác. Hãy kiểm tra các byte đúng như khi nhận, trước khi phân tích", "正文被重新写过：成员顺序不同。请在解析之前按收到的字节验证"},
	"the body was written again: characters are escaped in another way. Verify the bytes as they came, before anything parses them": {
		"nội dung đã được ghi lại: ký tự được thoát theo cách khác. Hãy kiểm tra các byte đúng như khi nhận, trước khi phân tích", "正文被重新写过：字符的转义方式不同。请在解析之前按收到的字节验证"},
	"another secret signed, or the body, webhook-id or webhook-timestamp is not what was sent": {
		"khóa bí mật khác đã ký, hoặc nội dung, webhook-id hay webhook-timestamp không phải thứ đã gửi", "由另一个密钥签名，或正文、webhook-id、webhook-timestamp 不是所发送的内容"},
}
