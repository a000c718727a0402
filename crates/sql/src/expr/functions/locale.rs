//! How the locales of FORMAT write numbers.

/// Point, separator of groups and where groups end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    point: char,
    separator: Option<char>,
    /// Digits of a group before the last one, which has three.
    group: usize,
}

const fn style(point: char, separator: Option<char>) -> Style {
    Style { point, separator, group: 3 }
}

/// en_US, and any locale that is not known.
pub(super) const ENGLISH: Style = style('.', Some(','));

/// The locales of MySQL that write numbers in another way than [`ENGLISH`].
const STYLES: &[(Style, &str)] = &[
    (
        style(',', Some('.')),
        "be_BY da_DK de_BE de_DE de_LU es_AR es_BO es_CL es_CO es_EC es_ES es_PY es_UY es_VE fo_FO hu_HU id_ID is_IS \
         lt_LT mn_MN nb_NO no_NO ro_RO ru_UA sq_AL tr_TR uk_UA vi_VN",
    ),
    (style(',', Some(' ')), "cs_CZ es_CR et_EE fi_FI lv_LV mk_MK ru_RU sk_SK sv_FI sv_SE"),
    (
        style(',', None),
        "bg_BG ca_ES de_AT el_GR eu_ES fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES hr_HR it_IT nl_BE nl_NL pl_PL pt_BR pt_PT \
         sl_SI",
    ),
    (style('.', None), "ar_SA sr_RS"),
    (style('.', Some('\'')), "de_CH"),
    (style(',', Some('\'')), "it_CH rm_CH"),
    (Style { group: 2, ..ENGLISH }, "en_IN ta_IN te_IN"),
    (
        ENGLISH,
        "ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA ar_SD ar_SY ar_TN ar_YE en_AU \
         en_CA en_GB en_NZ en_PH en_US en_ZA en_ZW es_DO es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_SV es_US gu_IN \
         he_IL hi_IN ja_JP ko_KR ms_MY th_TH ur_PK zh_CN zh_HK zh_TW",
    ),
];

/// The style of a locale by its name, in any case; `None` for a name that MySQL does not know.
pub(super) fn of(name: &str) -> Option<Style> {
    let known = |names: &str| names.split(' ').any(|known| known.eq_ignore_ascii_case(name));
    STYLES.iter().find(|(_, names)| known(names)).map(|(style, _)| *style)
}

impl Style {
    /// Writes a number that is given with a point and without groups.
    pub(super) fn write(self, number: &str) -> String {
        let (sign, number) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
        let (integer, fraction) =
            number.split_once('.').map_or((number, None), |(integer, fraction)| (integer, Some(fraction)));
        let mut written = String::from(sign);
        for (at, digit) in integer.chars().enumerate() {
            let left = integer.len() - at;
            let ends = left == 3 || (left > 3 && (left - 3) % self.group == 0);
            if let Some(separator) = self.separator.filter(|_| at > 0 && ends) {
                written.push(separator);
            }
            written.push(digit);
        }
        if let Some(fraction) = fraction {
            written.push(self.point);
            written.push_str(fraction);
        }
        written
    }
}
